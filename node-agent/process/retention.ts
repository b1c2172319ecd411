import { readdirSync, rmSync, statSync } from "node:fs";
import { isProcessId, processFolder } from "./folder.ts";
import { readRecord } from "./record.ts";

/** Removes folders whose ending was stored more than `keepMs` ago. */
export const reap = (procs: string, keepMs: number): void => {
  const before = Date.now() - keepMs;
  for (const id of readdirSync(procs).filter(isProcessId)) {
    const folder = processFolder(procs, id);
    const run = statSync(folder.run, { throwIfNoEntry: false });
    if (!run || run.mtimeMs >= before) continue;
    if (readRecord(folder)?.acked) rmSync(folder.path, { recursive: true, force: true });
  }
};
