import type { Figure } from "../figure.ts";
import { interleave, timed } from "../interleave.ts";
import { plainSpawn } from "../plain-spawn.ts";
import { median, quantile } from "../statistics.ts";

const pairs = 300;
const warmUps = 30;

/** How long one command takes from request to ending, one at a time. */
export const exec: Figure = {
  name: "exec",
  async take(bench) {
    const product = await bench.shared();
    const ours = (): Promise<number> => timed(() => product.exec({ command: "true" }));
    const theirs = (): Promise<number> => timed(() => plainSpawn("sh", ["-c", "true"]));
    await interleave(bench.times(warmUps), ours, theirs);
    const taken = await interleave(bench.times(pairs, 5), ours, theirs);
    return [
      { name: "REST exec of true, p50", value: median(taken.ours), unit: "ms" },
      { name: "REST exec of true, p99", value: quantile(taken.ours, 0.99), unit: "ms" },
      { name: "node's spawn of sh -c true, p50", value: median(taken.theirs), unit: "ms" },
      { name: "node's spawn of sh -c true, p99", value: quantile(taken.theirs, 0.99), unit: "ms" },
      {
        name: "exec p50 / spawn p50",
        value: median(taken.ours) / median(taken.theirs),
        unit: "x",
        goal: { atMost: 4 },
      },
    ];
  },
};
