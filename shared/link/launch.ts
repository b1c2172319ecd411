import * as z from "zod";

/** Everything an agent needs to run one process; the body of the `start` frame. */
export const launch = z.object({
  id: z.string(),
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
  timeoutMs: z.number().nullable(),
  idleTimeoutMs: z.number().nullable(),
  idleOn: z.array(z.enum(["output", "cpu"])),
  graceMs: z.number(),
  logBytes: z.number(),
  outputBytes: z.number().nullable(),
  nice: z.number().nullable(),
  keepDescendants: z.boolean(),
  // Left out by control planes and rows of before there were walls: then nothing is asked of them.
  memBytes: z.number().nullable().default(null),
  cpuPct: z.number().nullable().default(null),
  pids: z.number().nullable().default(null),
  user: z.string().nullable().default(null),
});
export type Launch = z.infer<typeof launch>;
