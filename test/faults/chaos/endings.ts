import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";
import { controlPlaneSilenceMs } from "#shared/link/limits.ts";
import type { LinkEvent } from "./findings.ts";
import type { Start } from "./load.ts";

type Seen = {
  start: Start;
  row: ProcessView;
  ran: boolean;
  wasFenced: boolean;
  /** What its node said of its links. */
  links: LinkEvent[];
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

/** How soon a node that is there hears of a stop. */
const soonMs = 5000;

/**
 * Whether a stop that was answered could reach the node before the command ended by itself: in a storm the node may be away for
 * longer than that takes. It could where a link lived for a while after it: one that was there, or one that came.
 */
function couldHear({ start, row, links }: Seen): boolean {
  const [stop, end] = [start.stoppedAt ?? Infinity, Date.parse(row.exitedAt ?? "")];
  return links.some(
    ({ at, event }, index) =>
      event === "link.connected" &&
      Math.min(lastSign(links[index + 1], at), end) - Math.max(at, stop) > soonMs,
  );
}

/** Until when a link is known to have lived: of an agent that was killed nothing is known, and a dead line is noticed late. */
const lastSign = (next: LinkEvent | undefined, at: number): number => {
  if (next === undefined) return Infinity;
  if (next.event !== "link.disconnected") return at;
  return next.why?.includes("heard nothing") === true ? next.at - controlPlaneSilenceMs : next.at;
};

function faultOfKnown(seen: Seen): Fault | undefined {
  const { row, ran, start, wasFenced } = seen;
  const { kind } = start.command;
  const wasStopped = row.status === "killed" && row.reason === "stopped";
  if (wasStopped && kind !== "stopped")
    return wasFenced ? undefined : fault("wrong ending", "it was stopped though nobody asked for it");
  // It may be ended before its first line.
  if (!ran && row.status !== "killed" && row.status !== "timed_out")
    return fault("wrong ending", "it ended by itself and left no sign that it ran");
  const isLeft = kind === "stopped" && !wasStopped && !couldHear(seen);
  const ending = isLeft ? { status: "exited", exitCode: 99 } : start.command.ending;
  const wrong = Object.entries(ending).filter(([name, value]) => row[name as keyof ProcessView] !== value);
  return wrong.length === 0
    ? undefined
    : fault("wrong ending", `expected ${JSON.stringify(Object.fromEntries(wrong))}`);
}
