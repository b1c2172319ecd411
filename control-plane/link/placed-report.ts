import type { Report } from "#shared/link/report.ts";
import type { ProcessReport } from "../store/store.ts";
import { fromBase64 } from "#shared/base64.ts";

/** A report on the control plane's clock: what the agent tells as ages before `now` becomes times. */
export function placedReport(report: Report, now: Date): ProcessReport {
  const { startedAgeMs, exitedAgeMs, snapshots, ...rest } = report;
  const startedAt = timeOfAge(startedAgeMs, now);
  const exitedAt = timeOfAge(exitedAgeMs, now);
  return {
    ...rest,
    startedAt,
    exitedAt: exitedAt !== null && startedAt !== null && exitedAt < startedAt ? startedAt : exitedAt,
    observedAt: now,
    snapshots: snapshots.map(({ head, tail, ...snapshot }) => ({
      ...snapshot,
      head: fromBase64(head),
      tail: fromBase64(tail),
    })),
  };
}

/** Of two reports of one process the newer, with the snapshots that only the older one has: they cross the link once. */
export function newestReport(one: ProcessReport, other: ProcessReport): ProcessReport {
  const [older, newer] = one.revision <= other.revision ? [one, other] : [other, one];
  const streams = new Set(newer.snapshots.map((snapshot) => snapshot.stream));
  return {
    ...newer,
    snapshots: [...newer.snapshots, ...older.snapshots.filter((snapshot) => !streams.has(snapshot.stream))],
  };
}

/** Bytes of a report's snapshots, with something for the rest. */
export const weightOf = (report: ProcessReport): number =>
  report.snapshots.reduce((sum, snapshot) => sum + snapshot.head.length + snapshot.tail.length, 512);

/** Ages beyond all sense end at the epoch and at now, so that a broken clock makes no invalid time. */
const timeOfAge = (ageMs: number | null, now: Date): Date | null =>
  ageMs === null ? null : new Date(Math.max(0, now.getTime() - Math.max(0, ageMs)));
