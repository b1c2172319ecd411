// The exit codes of the CLI. A process that ended by itself gives its own code, as if it had run here:
//   0…255 its code · 126/127 as its shell says · 128+n ended by signal n · 124 ended by its time limit
// and Drover speaks with three that programs rarely use:
//   125 Drover itself could not (also refused, canceled, expired, folder not found) · 255 node offline or process lost
//   2 the call was wrong

import { constants } from "node:os";
import type { ProcessView } from "#shared/api/process.ts";
import type { Failure } from "../sdk/failure.ts";

export const exitCodes = { ok: 0, usage: 2, timedOut: 124, drover: 125, lost: 255 } as const;

export type Ending = Pick<ProcessView, "status" | "exitCode" | "signal">;

/** The code that a process's final state is told with. */
export function exitCodeOf(ending: Ending): number {
  switch (ending.status) {
    case "timed_out":
      return exitCodes.timedOut;
    case "lost":
      return exitCodes.lost;
    case "exited":
    case "killed":
      return ending.exitCode ?? 128 + signalNumber(ending.signal ?? "TERM");
    default:
      return exitCodes.drover;
  }
}

/** The code of a request that failed. */
export function exitCodeOfFailure(failure: Failure): number {
  if (failure.code === "node_offline") return exitCodes.lost;
  return failure.code === "invalid_request" ? exitCodes.usage : exitCodes.drover;
}

/** The number of a signal by its name without SIG; that of KILL for one this machine does not know. */
export const signalNumber = (name: string): number =>
  constants.signals[`SIG${name}` as NodeJS.Signals] ?? constants.signals.SIGKILL;
