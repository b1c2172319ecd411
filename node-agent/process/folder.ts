import { existsSync } from "node:fs";
import { join } from "node:path";
import type { StreamName } from "#shared/streams.ts";

/**
 * The folder of one process, `<data>/procs/<id>/`. Creating it is the claim that makes a start happen once.
 *
 *   run     the launch script and the run record in one (see record.ts)
 *   out     stdout, or both when merged; err: stderr when split; appended by the command itself
 *   *.gap   which bytes of out or err are no longer kept
 *   in      stdin: a file with the text, or a FIFO
 *   mask    the values of secrets to hide in the output (see masking.ts)
 *   cmd     a command text too long for an argument
 *   as      what a command of another user begins with, until it does (see run-as.ts)
 *   intent  kill intents and sent signals, a line each, written before the signal
 */
export type ProcessFolder = {
  id: string;
  path: string;
  run: string;
  cmd: string;
  as: string;
  in: string;
  mask: string;
  intent: string;
};

/** Whether a name can be a process's id, and so a path. */
export const isProcessId = (name: string): boolean => /^[a-z]+_[0-9a-z]+$/.test(name);

/** The paths of a process's folder below `<data>/procs`. The id is checked before it becomes a path. */
export const processFolder = (procs: string, id: string): ProcessFolder => {
  if (!isProcessId(id)) throw new Error(`not an id: ${JSON.stringify(id)}`);
  const path = join(procs, id);
  const at = (name: string) => join(path, name);
  return {
    id,
    path,
    run: at("run"),
    cmd: at("cmd"),
    as: at("as"),
    in: at("in"),
    mask: at("mask"),
    intent: at("intent"),
  };
};

export const streamPath = (folder: ProcessFolder, stream: StreamName): string =>
  join(folder.path, stream === "stderr" ? "err" : "out");
export const gapPath = (folder: ProcessFolder, stream: StreamName): string =>
  `${streamPath(folder, stream)}.gap`;

/** The streams of a process: one merged, or stdout and stderr. */
export const streamsOf = (output: "merged" | "split"): StreamName[] =>
  output === "merged" ? ["merged"] : ["stdout", "stderr"];

/** Whether the folder records this stream. */
export const hasStream = (folder: ProcessFolder, stream: StreamName): boolean =>
  existsSync(streamPath(folder, stream));
