// What becomes of nodes by the clock. Each change of a node's presence is told by the statement that makes it, and no
// statement changes a row that another one has changed already: however many control planes look, it is told once.

import type { Presence } from "../presence.ts";
import type { Sql } from "./client.ts";
import { againOnDeadlock } from "./deadlock.ts";
import { eventOfEach } from "./events.ts";
import { storable } from "./text.ts";

export const presenceStore = (sql: Sql): Presence => ({
  async seen(signs) {
    if (signs.length === 0) return;
    const text = JSON.stringify(storable(signs));
    await againOnDeadlock(
      () => sql`
      update nodes set
        last_seen_at = sign."lastSeenAt",
        load = coalesce(sign.load, nodes.load),
        clock_skew_ms = coalesce(sign."clockSkewMs", nodes.clock_skew_ms)
      from json_to_recordset(${text}::text::json) as sign (
        "nodeId" text, epoch int, "lastSeenAt" timestamptz, load jsonb, "clockSkewMs" bigint)
      where nodes.id = sign."nodeId" and nodes.epoch = sign.epoch`,
    );
  },

  async settleOffline({ before, now }) {
    const rows = await sql<{ id: string }[]>`
      with due as (
        select id from nodes
        where connected_at is null and offline_at is null and not orderly and disconnected_at < ${before}
        order by id for update skip locked
      ), gone as (
        update nodes set offline_at = ${now} from due where nodes.id = due.id returning nodes.id, name
      ), told as (
        ${eventOfEach(sql, { from: "gone", type: "node.offline", at: now })}
      ) select id from gone`;
    return rows.map(({ id }) => id);
  },

  async loseOnGone({ before, now, limit }) {
    const rows = await sql<{ id: string }[]>`
      with gone as (
        select processes.id from nodes join processes on processes.node_id = nodes.id
        where nodes.connected_at is null and nodes.disconnected_at < ${before}
          and processes.concluded_at is null and processes.status <> 'queued'
        limit ${limit} for update of processes skip locked
      )
      update processes set status = 'lost', reason = 'node_gone', concluded_at = ${now}, sealed = null
      from gone where processes.id = gone.id and concluded_at is null
      returning processes.id`;
    return rows.map(({ id }) => id);
  },
});
