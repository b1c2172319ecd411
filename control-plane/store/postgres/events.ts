// Events are read in the order (transaction, id) and only below the oldest transaction that is still open: whatever
// commits later has a later transaction, so it comes behind all that was shown. Statements that tell of a node lock its
// row first and number their transaction after that, so the events of one node come in the order they happened.
//
// Where events were pruned one row stays, emptied: a reader that has it still ahead of its position missed something.

import type { EventType } from "#shared/api/event.ts";
import type { EventPosition, EventRow, Events, NewEvent } from "../events.ts";
import { json, type Sql } from "./client.ts";
import { type Pool } from "./pool.ts";
import { seesEvent } from "./sight.ts";

type Numbered = { transaction: string; id: number };
type Shown = NewEvent & Numbered & { settled: boolean; seen: boolean };

const pruned = "pruned";

export const eventStore = (sql: Pool): Events => ({
  append: (events) => appendEvents(sql, events),

  async after(position, limit, within) {
    const rows = await sql<Shown[]>`
      select id, transaction, at, type, node_id, data, ${seesEvent(sql, within)} as seen,
        transaction < (select pg_snapshot_xmin(pg_current_snapshot())) as settled
      from events where ${behind(sql, position)} order by transaction, id limit ${limit}`;
    if (rows.some(({ type }) => (type as string) === pruned)) return "expired";
    const settled = rows.filter((row) => row.settled);
    const last = settled.at(-1);
    return {
      events: settled.filter(({ seen }) => seen).map(eventRow),
      upTo: last === undefined ? position : positionOf(last),
      isLast: rows.length < limit || settled.length < rows.length,
      heldBack: settled.length < rows.length,
    };
  },

  async newest() {
    const [begin] = await sql<Numbered[]>`
      select pg_snapshot_xmin(pg_current_snapshot()) as transaction, 0 as id`;
    return positionOf(begin);
  },

  async isAhead({ transaction, id }) {
    const [found] = await sql<{ ahead: boolean }[]>`
      select ${transaction.toString()}::xid8 > pg_snapshot_xmax(pg_current_snapshot())
        or ${id} > (select coalesce(max(id), 0) from events) as ahead`;
    return found?.ahead ?? true;
  },

  prune: (before) => sql.begin((transaction) => prune(transaction, before)),
});

/** Appends events in a transaction of the caller's. */
export async function appendEvents(sql: Sql, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await sql`
    insert into events (at, type, node_id, data)
    select at, type, "nodeId", data from jsonb_to_recordset(${json(sql, events)})
      as each (at timestamptz, type text, "nodeId" text, data jsonb)`;
}

type Fragment = ReturnType<Sql>;

/**
 * A step of a `with` that tells of nodes: an event for each row of the step `from`, which gives the node's `id` and `name`.
 * `where` chooses rows.
 */
export const eventOfEach = (
  sql: Sql,
  event: { from: string; type: EventType; at: Date | Fragment; where?: Fragment },
) => sql`
  insert into events (at, type, node_id, data)
  select ${event.at}::timestamptz, ${event.type}::text, id, jsonb_build_object('name', name)
  from ${sql(event.from)} where ${event.where ?? sql`true`}`;

async function prune(sql: Sql, before: Date): Promise<number> {
  // In a database that was restored into another cluster, transactions begin anew: what is from "later" ones is old.
  await sql`
    update events set transaction = '0' where transaction >= (select pg_snapshot_xmax(pg_current_snapshot()))`;
  const [kept] = await sql<Numbered[]>`
    select transaction, id from events
    where at >= ${before} or transaction >= (select pg_snapshot_xmin(pg_current_snapshot()))
    order by transaction, id limit 1`;
  const old = kept ? sql`(transaction, id) < (${kept.transaction}::xid8, ${kept.id}::bigint)` : sql`true`;
  const [last] = await sql<Numbered[]>`
    select transaction, id from events where ${old} order by transaction desc, id desc limit 1`;
  if (!last) return 0;
  const deleted = await sql`
    delete from events where (transaction, id) < (${last.transaction}::xid8, ${last.id}::bigint)`;
  const emptied = await sql`
    update events set type = ${pruned}, data = '{}' where id = ${last.id} and type <> ${pruned}`;
  return deleted.count + emptied.count;
}

const behind = (sql: Sql, { transaction, id }: EventPosition) =>
  sql`(transaction, id) > (${transaction.toString()}::xid8, ${id}::bigint)`;

const positionOf = (numbered: Numbered | undefined): EventPosition => ({
  transaction: BigInt(numbered?.transaction ?? 0),
  id: numbered?.id ?? 0,
});

const eventRow = ({ transaction, id, settled: _settled, seen: _seen, ...event }: Shown): EventRow => ({
  ...event,
  position: positionOf({ transaction, id }),
});
