import type { Report } from "#shared/link/report.ts";
import { uptime } from "./proc-table.ts";
import type { Ending, RunRecord, Spec } from "./record.ts";

/** What is known of one process from its record; times in seconds since boot. */
export type Facts = {
  bootId: string;
  pid: number | null;
  cwd: string;
  startedAt: number | null;
  exitedAt: number | null;
};

export const factsOf = (spec: Spec, record: RunRecord | undefined): Facts => ({
  bootId: spec.bootId,
  pid: record?.leader?.pid ?? null,
  cwd: spec.cwd,
  startedAt: record?.startedAt ?? null,
  exitedAt: record?.exit?.at ?? null,
});

/** The part of a report that says when and how; ages are unknown where seconds since boot belong to another boot. */
export const storyOf = (
  facts: Facts,
  ending: Ending | undefined,
  bootId: string,
): Omit<
  Report,
  "id" | "revision" | "status" | "totalBytes" | "omittedBytes" | "lines" | "survivors" | "snapshots"
> => {
  const ageMs = (at: number | null) =>
    at === null || facts.bootId !== bootId ? null : Math.max(0, Math.round((uptime() - at) * 1000));
  const { startedAt, exitedAt } = facts;
  return {
    reason: ending?.reason ?? null,
    detail: ending?.detail ?? null,
    exitCode: ending?.exitCode ?? null,
    signal: ending?.signal ?? null,
    pid: facts.pid,
    cwd: facts.cwd,
    startedAgeMs: ageMs(startedAt),
    exitedAgeMs: ageMs(exitedAt),
    durationMs:
      startedAt === null || exitedAt === null ? null : Math.max(0, Math.round((exitedAt - startedAt) * 1000)),
  };
};
