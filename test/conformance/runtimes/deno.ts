import { denoControlPlane, denoEnv } from "../../support/deno.ts";
import { running, serve } from "./node.ts";
import type { Runtime } from "./runtime.ts";

export const runtime: Runtime = {
  name: "deno",
  powers: [],
  start: async (options) =>
    running(await serve(options, { words: [], options: { program: denoControlPlane(), env: denoEnv } })),
};
