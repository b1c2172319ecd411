import * as z from "zod";
import { endReasons, processStatuses } from "../process-state.ts";
import { survivor } from "../survivor.ts";
import { b64 } from "./b64.ts";
import { count, int32, processId } from "./measures.ts";

/**
 * What an agent says of one process. A report is complete in itself (never a difference), so the newest
 * revision says all and older ones may be dropped. `revision` grows with every change, also over agent restarts.
 * Times are ages (ms before the moment of sending) on the agent's monotonic clock: the control plane turns
 * them into times of its own clock.
 */
export const snapshot = z.object({
  stream: z.enum(["merged", "stdout", "stderr"]),
  /** The first bytes, and the last bytes (empty where the head holds everything), as base64. */
  head: b64,
  tail: b64,
  totalBytes: count,
});
export type Snapshot = z.infer<typeof snapshot>;

export const report = z.object({
  id: processId,
  revision: count,
  status: z.enum(processStatuses),
  reason: z.enum(endReasons).nullable(),
  detail: z.string().max(4096).nullable(),
  exitCode: int32.nullable(),
  signal: z.string().max(16).nullable(),
  pid: int32.nullable(),
  cwd: z.string().max(8192).nullable(),
  startedAgeMs: z.number().nullable(),
  exitedAgeMs: z.number().nullable(),
  durationMs: count.nullable(),
  totalBytes: count,
  omittedBytes: count,
  lines: count.nullable(),
  survivors: z.array(survivor).max(1000),
  /** Head and tail, only when they changed since the last report. */
  snapshots: z.array(snapshot).max(2),
});
export type Report = z.infer<typeof report>;
