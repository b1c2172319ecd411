import { fanoutNodeStatuses, type FanoutCounts } from "#shared/fanout-state.ts";
import type { FanoutPlan, FanoutRow } from "../fanouts.ts";
import type { Sight } from "../sight.ts";
import type { fanouts } from "../../../drizzle/schema.ts";
import type { Sql } from "./client.ts";
import { seesFanoutNode } from "./sight.ts";

export type FanoutRecord = Omit<typeof fanouts.$inferSelect, "sealed" | "plan" | "process" | "status"> & {
  plan: FanoutPlan;
  counts: Partial<FanoutCounts> | null;
} & Pick<FanoutRow, "process" | "status">;

export const fanoutRow = ({ counts, ...record }: FanoutRecord): FanoutRow => ({
  ...record,
  counts: countsOf(counts),
});

const countsOf = (found: Partial<FanoutCounts> | null): FanoutCounts => {
  const entries = fanoutNodeStatuses.map((status) => [status, found?.[status] ?? 0] as const);
  return Object.fromEntries(entries) as FanoutCounts;
};

/** Fan-outs with how many of their nodes are in each state, to be followed by `where`. */
export const fanoutsWithCounts = (sql: Sql, within?: Sight) => sql`
  select id, selector, process, plan, status, reason, created_by, created_at, expires_at, last_start_at, ended_at, counts
  from fanouts cross join lateral (
    select jsonb_object_agg(each.status, each.count) as counts from (
      select status, count(*) from fanout_nodes
      where fanout_id = fanouts.id and ${seesFanoutNode(sql, within)} group by status) each
  ) counted`;

export const nodeColumns = (sql: Sql) => sql`
  node_id, node_name, position, status, reason, process_id, attempt, exit_code, sha256, started_at, ended_at`;

/** The node of a claim as if it had never been claimed. */
export const unclaimed = (sql: Sql) => sql`status = 'waiting', process_id = null, started_at = null`;

/** Claimed and not started: its process is not stored, and is not going to be once this no longer holds. */
export const isClaim = (sql: Sql) => sql`status = 'running' and started_at is null`;
