import { constants } from "node:os";
import { signalNames } from "#shared/signals.ts";
import type { EndReason } from "#shared/process-state.ts";
import type { EndIntent, Intent } from "./intents.ts";
import type { Ending, RunRecord } from "./record.ts";

/** By number; of two names for one number (ABRT and IOT) the one the API knows. */
const signalName = new Map(signalNames.map((name) => [constants.signals[`SIG${name}`], name]));

/**
 * Tells a death by signal from an exit code. A shell reports both as 128+n, but announces only the death (`announced`).
 * It announces neither INT nor PIPE: 130 is the signal only when Drover sent INT, else 130 and 141 are codes.
 */
export const decodeExit = (
  code: number,
  announced: boolean,
  sent: ReadonlySet<string>,
): { exitCode: number | null; signal: string | null } => {
  const signal = code > 128 ? signalName.get(code - 128) : undefined;
  const died =
    signal !== undefined && (announced || ((signal === "INT" || signal === "PIPE") && sent.has(signal)));
  return died ? { exitCode: null, signal } : { exitCode: code, signal: null };
};

/** The ending from what the wrapper wrote and what Drover did. */
export const endingOf = (exit: { code: number; announced: boolean }, intents: Intent[]): Ending => {
  const sent = new Set(intents.flatMap((intent) => (intent.kind === "signal" ? [intent.signal] : [])));
  const result = decodeExit(exit.code, exit.announced, sent);
  const end = firstEnd(intents);
  if (end)
    return {
      ...result,
      status: end.status === "canceled" ? "killed" : end.status,
      reason: end.reason,
      detail: null,
    };
  if (result.signal !== null && sent.has(result.signal))
    return { ...result, status: "killed", reason: "signal", detail: null };
  return { ...result, status: "exited", reason: null, detail: null };
};

/** The ending of a process whose wrapper left no ending: by the intent that killed it, else its fate is unknown. */
export const endingWithoutRecord = (intents: Intent[]): Ending => {
  const end = firstEnd(intents);
  if (end) return unknownBy(end);
  return {
    status: "lost",
    reason: "wrapper_killed",
    detail: "the shell that waited for the command was killed",
    exitCode: null,
    signal: null,
  };
};

/** The ending of a process whose wrapper is gone without having written one. */
export const endingWithoutExit = (record: RunRecord | undefined, intents: Intent[]): Ending => {
  if (record?.leader || firstEnd(intents)) return endingWithoutRecord(intents);
  // It was there when the wrapper was spawned: somebody removed it, so how far the command came is not known.
  return record ? failed("spawn_error", "the shell that starts commands could not run") : recordGone;
};

const unknownBy = (end: EndIntent): Ending => ({
  status: end.status,
  reason: end.reason,
  detail: null,
  exitCode: null,
  signal: null,
});

export const firstEnd = (intents: Intent[]): EndIntent | undefined =>
  intents.find((intent) => intent.kind === "end");

export const rebooted: Ending = {
  status: "lost",
  reason: "node_rebooted",
  detail: "the machine was started anew",
  exitCode: null,
  signal: null,
};
export const recordGone: Ending = {
  status: "lost",
  reason: "agent_state_lost",
  detail: "the record of this process was removed from the node while it ran",
  exitCode: null,
  signal: null,
};
export const canceled: Ending = {
  status: "canceled",
  reason: null,
  detail: null,
  exitCode: null,
  signal: null,
};
export const failed = (reason: EndReason, detail: string): Ending => ({
  status: "failed",
  reason,
  detail,
  exitCode: null,
  signal: null,
});

/** The ending that a record holds; undefined while it holds none. */
export const endingIn = (record: RunRecord, intents: Intent[]): Ending | undefined => {
  if (record.final) return record.final;
  return record.exit ? endingOf({ code: record.exit.code, announced: record.announced }, intents) : undefined;
};
