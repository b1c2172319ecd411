import { existsSync } from "node:fs";
import { join } from "node:path";
import type { StreamName } from "#shared/streams.ts";

/**
 * The folder of one process, `<data>/procs/<id>/`. Creating it is the claim that makes a start happen once.
 *
 *   run    spec line by the agent, then lines by the wrapper, in place over padding (see record.ts)
 *   go     the launch script (see launch.ts); cmd: a command text too long for an argument
 *   out    stdout, or both when merged; err: stderr when split; appended by the command itself
 *   gap    ranges of out or err that are no longer kept
 *   in     stdin: a file with the text, or a FIFO
 *   why    what the wrapper's shell says, which is how a death by signal is told from an exit code
 *   intent kill intents and sent signals, a line each, written before the signal
 *   final  the ending, renamed to final.acked once the control plane has stored it
 */
export type ProcessFolder = {
  id: string;
  path: string;
  run: string;
  go: string;
  cmd: string;
  in: string;
  why: string;
  intent: string;
  final: string;
  acked: string;
};

/** The paths of a process's folder below `<data>/procs`. The id is checked before it becomes a path. */
export const processFolder = (procs: string, id: string): ProcessFolder => {
  if (!/^[a-z]+_[0-9a-z]+$/.test(id)) throw new Error(`not an id: ${JSON.stringify(id)}`);
  const path = join(procs, id);
  const at = (name: string) => join(path, name);
  return {
    id,
    path,
    run: at("run"),
    go: at("go"),
    cmd: at("cmd"),
    in: at("in"),
    why: at("why"),
    intent: at("intent"),
    final: at("final"),
    acked: at("final.acked"),
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
