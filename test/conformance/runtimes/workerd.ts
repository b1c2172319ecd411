import { Worker } from "../../support/worker.ts";
import type { Runtime } from "./runtime.ts";

export const runtime: Runtime = {
  name: "workerd",
  powers: ["hibernate", "evict"],
  showsPage: true,
  async start(options) {
    const worker = await Worker.start(options);
    return {
      url: worker.url,
      get log() {
        return worker.log;
      },
      kill: () => worker.kill(),
      stop: () => worker.kill(),
      hibernate: () => worker.sleep(),
      evict: () => worker.crash(),
    };
  },
};
