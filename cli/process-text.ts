import type { ProcessView } from "#shared/api/process.ts";
import type { ProcessStatus } from "#shared/process-state.ts";
import { joinArgv } from "#shared/shell-quote.ts";
import type { Paint } from "./print.ts";

/** What runs, on one line. */
export const commandText = (process: ProcessView): string => process.command ?? joinArgv(process.argv ?? []);

/** A state with what makes it plain: `exited 3`, `exited SEGV`, `killed stopped`, `running stale`. */
export function endingText(process: ProcessView): string {
  const { status, exitCode, signal, reason, stale } = process;
  const code = signal ?? (exitCode === null ? null : String(exitCode));
  const why = status === "exited" ? code : reason;
  return [status, why, stale ? "stale" : null].filter((part) => part !== null).join(" ");
}

const colours: Partial<Record<ProcessStatus, Paint>> = {
  running: "green",
  queued: "grey",
  starting: "yellow",
  stopping: "yellow",
  killed: "yellow",
  timed_out: "red",
  failed: "red",
  expired: "red",
  lost: "red",
};

export const statusColour = (process: ProcessView): Paint | undefined =>
  process.status === "exited" && process.exitCode !== 0 ? "red" : colours[process.status];
