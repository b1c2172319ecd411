import * as z from "zod";

/** Bytes, places in a stream, lines, revisions: whole, from 0, and no more than can be counted exactly and stored. */
export const count = z.int().min(0);
/** What the kernel says and a column of 32 bits holds: pids, exit codes. */
export const int32 = z.int32();
/** The id of a process: both ends make paths and queries of it. */
export const processId = z
  .string()
  .max(64)
  .regex(/^[a-z]+_[0-9a-z]+$/, "must be the id of a process");
