import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";
import type { Start } from "./load.ts";

type Seen = {
  start: Start;
  row: ProcessView;
  ran: boolean;
  wasFenced: boolean;
  /** When its node was welcomed. */
  welcomes: number[];
};
export type Fault = { kind: string; why: string };

const fault = (kind: string, why: string): Fault => ({ kind, why });

/** What is wrong with the ending of a process, given what it does, whether it ran, and what was asked of it. */
export function faultOfEnding(seen: Seen): Fault | undefined {
  const { row, ran, start } = seen;
  if (!isFinal(row.status)) return fault("not final", "it never came to its end");
  if (row.survivors.length > 0) return fault("survivor", "it still lists survivors");
  switch (row.status) {
    case "lost":
    case "expired":
      return faultOfUnknown(seen);
    case "canceled":
      if (ran) return fault("wrong ending", "it ran though it says it never did");
      return start.stop === "none" && !seen.wasFenced
        ? fault("wrong ending", "nobody asked to stop it")
        : undefined;
    default:
      return faultOfKnown(seen);
  }
}

/**
 * Of a storm that leaves every data folder and every wrapper alone, only a start whose delivery failed may be given up,
 * and one that ran has an ending on its node, which corrects that.
 */
function faultOfUnknown({ row, ran, start }: Seen): Fault | undefined {
  const why = `${row.status}/${row.reason}`;
  if (row.reason !== "unconfirmed" && row.reason !== "not_delivered")
    return fault("lost for no reason", `${why} cannot be: nothing took the node's memory`);
  if (ran) return fault("lost though it ran", `${why}, and its node knows how it ended`);
  const waits = start.ifOffline === "queue";
  return waits && row.reason === "not_delivered"
    ? fault("lost for no reason", `${why}: a start that may wait for its node is not given up`)
    : undefined;
}

/** How soon a node that is there hears of a stop, and the control plane of an ending. */
const soonMs = 5000;

/**
 * A stop that nobody asked for, or that was asked for while the node was away: in a storm it may stay away for longer than the
 * command takes to end by itself. Then it was not welcomed between the stop and the end, and its ending was told late.
 */
function wasLeft({ start, row, welcomes }: Seen): boolean {
  if (start.stop === "none") return true;
  const [end, told] = [Date.parse(row.exitedAt ?? ""), Date.parse(row.observedAt ?? "")];
  const stop = start.stoppedAt ?? end;
  return told - end > soonMs && !welcomes.some((at) => at > stop && at < end - soonMs);
}

function faultOfKnown(seen: Seen): Fault | undefined {
  const { row, ran, start, wasFenced } = seen;
  const { kind } = start.command;
  const wasStopped = row.status === "killed" && row.reason === "stopped";
  if (wasStopped && kind !== "stopped")
    return wasFenced ? undefined : fault("wrong ending", "it was stopped though nobody asked for it");
  // It may be ended before its first line.
  if (!ran && row.status !== "killed" && row.status !== "timed_out")
    return fault("wrong ending", "it ended by itself and left no sign that it ran");
  const isLeft = kind === "stopped" && !wasStopped && wasLeft(seen);
  const ending = isLeft ? { status: "exited", exitCode: 99 } : start.command.ending;
  const wrong = Object.entries(ending).filter(([name, value]) => row[name as keyof ProcessView] !== value);
  return wrong.length === 0
    ? undefined
    : fault("wrong ending", `expected ${JSON.stringify(Object.fromEntries(wrong))}`);
}
