/** The streams of a process: one merged, or stdout and stderr where the output is split. */
export const streamNames = ["merged", "stdout", "stderr"] as const;
export type StreamName = (typeof streamNames)[number];
