// Everything but a report that ends a process. `concluded_at` is set exactly when the state is final.

import type { Processes, UnconfirmedStart } from "../store.ts";
import type { Sql } from "./client.ts";
import { againOnDeadlock } from "./deadlock.ts";
import { allowedSteps, unfinished } from "./process-rows.ts";

type Rules = Pick<Processes, "conclude" | "dropSurvivors" | "expireQueued" | "unconfirmed" | "confirm">;
type Removal = Pick<Processes, "delete" | "prune">;

export const endings = (sql: Sql): Rules => ({
  async conclude(ids, { status, reason, now, onlyStatuses }) {
    const rows = await againOnDeadlock(
      () => sql<{ id: string }[]>`
      update processes set
        status = ${status}, reason = ${reason}, concluded_at = ${now},
        survivors = '[]'::jsonb, sealed = null, stop = null
      where id = any(${ids}) and status = any(${onlyStatuses})
        and (status || '>' || ${status}::text) = any(${allowedSteps})
      returning id`,
    );
    return rows.map(({ id }) => id);
  },

  async dropSurvivors(ids) {
    await sql`
      update processes set survivors = '[]'::jsonb, stop = null
      where id = any(${ids}) and concluded_at is not null and survivors <> '[]'::jsonb`;
  },

  async expireQueued(now, confirmBefore) {
    const rows = await sql<{ id: string }[]>`
      update processes set
        status = 'expired', concluded_at = ${now}, sealed = null, stop = null,
        reason = case when created_at + queue_ttl_ms * interval '1 millisecond' < ${now}
          then 'queue_ttl' else 'not_delivered' end
      where status = 'queued' and concluded_at is null and (
        created_at + queue_ttl_ms * interval '1 millisecond' < ${now}
        or if_offline = 'fail' and created_at < ${confirmBefore} and not ${wasHeld(sql, confirmBefore)})
      returning id`;
    return rows.map(({ id }) => id);
  },

  async unconfirmed(before) {
    const rows = await sql<UnconfirmedStart[]>`
      select processes.id, node_id, hand_out, if_offline, held_by from processes left join nodes on nodes.id = node_id
      where status = 'starting' and concluded_at is null and revision = 0
        and coalesce(handed_out_at, processes.created_at) < ${before}
      order by processes.id`;
    return [...rows];
  },

  async confirm(ids) {
    await sql`
      update processes set handed_out_at = 'infinity' where id = any(${ids}) and status = 'starting' and revision = 0`;
  },
});

/** A node that is there and has no free place keeps its queue; one that is away does not get what may not wait for it. */
const wasHeld = (sql: Sql, since: Date) => sql`exists (
  select from nodes where nodes.id = node_id and (held_by is not null or disconnected_at >= ${since}))`;

export const removal = (sql: Sql): Removal => ({
  async delete(id) {
    const deleted = await sql`delete from processes where id = ${id} and not ${unfinished(sql)} returning id`;
    if (deleted.length > 0) return "deleted";
    const left = await sql`select 1 from processes where id = ${id}`;
    return left.length > 0 ? "not_ended" : "unknown";
  },

  async prune(before, limit) {
    await sql`delete from process_keys where process_id is null and created_at < ${before}`;
    const { count } = await sql`
      delete from processes where id in (
        select id from processes
        where concluded_at is not null and concluded_at < ${before} and survivors = '[]'::jsonb
        order by concluded_at limit ${limit} for update skip locked)`;
    return count;
  },
});
