import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  gapPath,
  type ProcessFolder,
  processFolder,
  streamPath,
} from "../../../node-agent/process/folder.ts";

/** The folder of a process whose merged output is written by the test. */
export type StreamFolder = {
  folder: ProcessFolder;
  write(bytes: string | Uint8Array): void;
  gap(from: number, to: number): void;
  remove(): void;
};

export const streamFolder = (written: string | Uint8Array = ""): StreamFolder => {
  const procs = mkdtempSync(join(tmpdir(), "drover-stream-"));
  const folder = processFolder(procs, "proc_1");
  mkdirSync(folder.path);
  const file = streamPath(folder, "merged");
  writeFileSync(file, written);
  return {
    folder,
    write: (bytes) => appendFileSync(file, bytes),
    gap: (from, to) => writeFileSync(gapPath(folder, "merged"), JSON.stringify({ from, to, shift: 0 })),
    remove: () => rmSync(procs, { recursive: true, force: true }),
  };
};
