import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** Removes folders whose ending was stored more than `keepMs` ago. */
export const reap = (procs: string, keepMs: number): void => {
  const before = Date.now() - keepMs;
  for (const name of readdirSync(procs)) {
    const path = join(procs, name);
    const acked = statSync(join(path, "final.acked"), { throwIfNoEntry: false });
    if (acked && acked.mtimeMs < before) rmSync(path, { recursive: true, force: true });
  }
};
