import { mayAdvance, processStatuses } from "#shared/process-state.ts";
import type { NewProcess, ProcessRow } from "../store.ts";
import type { processes } from "../../../drizzle/schema.ts";
import type { Sql } from "./client.ts";

/** A row of `processes` as the columns below select it. */
export type ProcessRecord = Omit<
  typeof processes.$inferSelect,
  "sealed" | "chatId" | "handedOutAt" | "concludedAt" | "leaseId"
>;

// The record is the row: a column that the store's type lacks, or the other way round, is an error here.
export const processRow = (record: ProcessRecord): ProcessRow => ({ ...record });

export const processColumns = (sql: Sql) => sql`
  id, node_id, fanout_id, key, launch, background, labels, if_offline, queue_ttl_ms, status, reason, detail, exit_code, signal,
  pid, cwd, revision, hand_out, total_bytes, omitted_bytes, lines, survivors, stop, created_at, started_at, exited_at,
  duration_ms, observed_at`;

/** Not final, or final with children that live on: the condition of the partial index of the same name. */
export const unfinished = (sql: Sql) => sql`(concluded_at is null or survivors <> '[]'::jsonb)`;

/** Every step that `mayAdvance` allows, as `now>next`: SQL decides by the same table as the code. */
export const allowedSteps: string[] = processStatuses.flatMap((now) =>
  processStatuses.filter((next) => mayAdvance(now, next)).map((next) => `${now}>${next}`),
);

/** The row that `insert` has just stored. */
export function rowOfNew(start: NewProcess): ProcessRow {
  const {
    sealed: _sealed,
    digest: _digest,
    olderDigests: _older,
    leaseId: _leaseId,
    queueFull: _queueFull,
    ...shown
  } = start;
  return {
    ...shown,
    reason: null,
    detail: null,
    exitCode: null,
    signal: null,
    pid: null,
    cwd: null,
    startedAt: null,
    exitedAt: null,
    durationMs: null,
    observedAt: null,
    revision: 0,
    handOut: 0,
    totalBytes: 0,
    omittedBytes: 0,
    lines: null,
    survivors: [],
    stop: null,
  };
}
