import * as z from "zod";
import { count, int32, processId } from "./measures.ts";

/** Everything an agent needs to run one process; the body of the `start` frame. */
export const launch = z.object({
  id: processId,
  chatId: z.string().nullable(),
  command: z.string().nullable(),
  argv: z.array(z.string()).nullable(),
  shell: z.string(),
  cwd: z.string().nullable(),
  env: z.record(z.string(), z.string()),
  /** Values that are shown to nobody who reads its output. */
  masks: z.array(z.string()).optional(),
  stdin: z.union([z.enum(["none", "pipe"]), z.object({ text: z.string() })]),
  output: z.enum(["merged", "split"]),
  timeoutMs: count.nullable(),
  idleTimeoutMs: count.nullable(),
  idleOn: z.array(z.enum(["output", "cpu"])),
  graceMs: count,
  logBytes: count,
  outputBytes: count.nullable(),
  nice: int32.nullable(),
  keepDescendants: z.boolean(),
  // Left out by control planes and rows of before there were walls: then nothing is asked of them.
  memBytes: z.number().nullable().default(null),
  cpuPct: z.number().nullable().default(null),
  pids: z.number().nullable().default(null),
  user: z.string().nullable().default(null),
});
export type Launch = z.infer<typeof launch>;
