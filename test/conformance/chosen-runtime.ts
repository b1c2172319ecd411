import { inject } from "vitest";
import type { Runtime, RuntimeName } from "./runtimes/runtime.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The runtime that a conformance project is about. */
    runtime: RuntimeName;
  }
}

const chosen = (await import(`./runtimes/${inject("runtime")}.ts`)) as { runtime: Runtime };

export const { runtime } = chosen;
