// What people and refusals change of a fan-out. Each locks the fan-out's row first, as a step does, so that none of them
// meets another in the middle; a start does not: it takes its claim's row alone, and stands or falls with that.

import { canceling } from "#shared/fanout-state.ts";
import type { Fanouts } from "../fanouts.ts";
import type { Sql } from "./client.ts";
import type { Pool } from "./pool.ts";
import { isClaim, unclaimed } from "./fanout-rows.ts";

type Steering = Pick<Fanouts, "pause" | "resume" | "cancel" | "retry" | "refuse">;

export const steering = (sql: Pool): Steering => ({
  async pause(id, reason) {
    await sql.begin(async (transaction) => {
      const paused = await transaction`
        update fanouts set status = 'paused', reason = ${reason}
        where id = ${id} and status = 'running' and reason is distinct from ${canceling} returning id`;
      if (paused.length > 0) await releaseClaims(transaction, id);
    });
  },

  async resume(id) {
    await sql`
      update fanouts set status = 'running', reason = null, plan = plan || jsonb_build_object('acceptedFailures', (
        select count(*) from fanout_nodes where fanout_id = ${id} and status in ('failed', 'timed_out', 'lost')))
      where id = ${id} and status = 'paused'`;
  },

  async cancel(id, now) {
    await sql.begin(async (transaction) => {
      const canceled = await transaction`
        update fanouts set status = 'running', reason = ${canceling} where id = ${id} and ended_at is null returning id`;
      if (canceled.length === 0) return;
      await transaction`
        update fanout_nodes set status = 'canceled', reason = null, process_id = null, ended_at = ${now}
        where fanout_id = ${id} and (status = 'waiting' or ${isClaim(transaction)})`;
    });
  },

  retry: (id, now) =>
    sql.begin(async (transaction) => {
      const open = await transaction`
        select 1 from fanouts where id = ${id} and reason is distinct from ${canceling} for update`;
      if (open.length === 0) return 0;
      const { count } = await transaction`
        update fanout_nodes set ${unclaimed(transaction)}, attempt = attempt + 1, reason = null, exit_code = null,
          sha256 = null, ended_at = null
        where fanout_id = ${id} and status in ('failed', 'timed_out', 'lost', 'skipped', 'canceled')`;
      if (count > 0) await reopen(transaction, id, now);
      return count;
    }),

  async refuse(id, refusals, now) {
    await sql.begin(async (transaction) => {
      await transaction`select 1 from fanouts where id = ${id} for update`;
      await transaction`
        update fanout_nodes node set
          status = refused.status, reason = refused.reason, process_id = null,
          ended_at = case refused.status when 'skipped' then ${now}::timestamptz end
        from json_to_recordset(${JSON.stringify(refusals)}::text::json) as refused (
          "nodeId" text, "processId" text, status text, reason text)
        where node.fanout_id = ${id} and node.node_id = refused."nodeId" and node.process_id = refused."processId"
          and node.status = 'running' and node.started_at is null`;
    });
  },
});

const releaseClaims = (sql: Sql, id: string) =>
  sql`update fanout_nodes set ${unclaimed(sql)} where fanout_id = ${id} and ${isClaim(sql)}`;

const reopen = (sql: Sql, id: string, now: Date) => sql`
  update fanouts set
    status = 'running', reason = null, ended_at = null,
    expires_at = ${now}::timestamptz + (plan->>'expiresMs')::bigint * interval '1 millisecond',
    plan = plan || '{"acceptedFailures": 0}'
  where id = ${id}`;
