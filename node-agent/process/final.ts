import { readFileSync, renameSync, writeFileSync } from "node:fs";
import * as z from "zod";
import { endReasons, finalStatuses } from "#shared/process-state.ts";
import type { ProcessFolder } from "./folder.ts";

/** The ending as it lies in the folder; ages come from the seconds-since-boot values, valid while `bootId` is the machine's. */
const final = z.object({
  bootId: z.string(),
  revision: z.number(),
  status: z.enum(finalStatuses),
  reason: z.enum(endReasons).nullable(),
  detail: z.string().nullable(),
  exitCode: z.number().nullable(),
  signal: z.string().nullable(),
  pid: z.number().nullable(),
  cwd: z.string().nullable(),
  startedAt: z.number().nullable(),
  exitedAt: z.number().nullable(),
  output: z.enum(["merged", "split"]),
  omittedBytes: z.number(),
});
export type Final = z.infer<typeof final>;

/** Written beside and renamed, so that it is there whole or not at all. */
export const writeFinal = (folder: ProcessFolder, ending: Final): void => {
  writeFileSync(`${folder.final}.new`, JSON.stringify(ending), { mode: 0o600 });
  renameSync(`${folder.final}.new`, folder.final);
};

/** The control plane has stored the ending. */
export const markAcked = (folder: ProcessFolder): void => renameSync(folder.final, folder.acked);

const readAt = (path: string): Final | undefined => {
  try {
    return final.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // Not there, or of another version: there is no such ending.
    return undefined;
  }
};

export const readFinal = (folder: ProcessFolder): { ending: Final; acked: boolean } | undefined => {
  const open = readAt(folder.final);
  if (open) return { ending: open, acked: false };
  const acked = readAt(folder.acked);
  return acked && { ending: acked, acked: true };
};
