import { expect } from "vitest";
import { isAlive, procEntry } from "../../../node-agent/process/proc-table.ts";

/** Resolves once no process, or only a zombie, has this pid. */
export const isGone = async (pid: number): Promise<void> => {
  await expect
    .poll(
      () => {
        const entry = procEntry(pid);
        return entry !== undefined && isAlive(entry);
      },
      { timeout: 10_000, interval: 10 },
    )
    .toBe(false);
};
