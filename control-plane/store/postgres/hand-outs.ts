// Who has a start in hand, by its number (see link/dispatch.ts). Each taking raises the number in the statement that takes, and who
// returns or ends a start names the number under which it had it: of two at once the row's lock lets one be the last.

import type { HandOut, Processes, StartInHand } from "../store.ts";
import type { Sql } from "./client.ts";
import { againOnDeadlock } from "./deadlock.ts";
import { heldNode, isHeld } from "./holds.ts";
import { processColumns, processRow, type ProcessRecord } from "./process-rows.ts";

type HandOuts = Pick<Processes, "takeQueued" | "takeOver" | "takeMissing" | "putBack" | "endUnheard">;
type Taken = ProcessRecord & Pick<StartInHand, "sealed">;

export const handOuts = (sql: Sql): HandOuts => ({
  async takeQueued(nodeId, limit, now) {
    const taken = await sql<Taken[]>`
      with node as materialized (${heldNode(sql, nodeId)})
      update processes set status = 'starting', ${inNewHands(sql)}
      where id in (
        select id from processes where node_id = ${nodeId} and status = 'queued' and concluded_at is null
          and not ${isHeld(sql, now, sql`processes.lease_id`)}
        order by id limit ${limit} for update skip locked)
      returning ${processColumns(sql)}, sealed`;
    return inOrder(taken);
  },

  async takeOver({ id, handOut }) {
    const [taken] = await sql<Taken[]>`
      update processes set ${inNewHands(sql)}
      where id = ${id} and hand_out = ${handOut} and ${unheard(sql)}
      returning ${processColumns(sql)}, sealed`;
    return taken && startInHand(taken);
  },

  async takeMissing({ nodeId, epoch }, ids) {
    // The lock lets no newer session begin before this is done: what that one finds is not taken away from it later.
    const taken = await againOnDeadlock(
      () => sql<Taken[]>`
      with session as materialized (select id from nodes where id = ${nodeId} and epoch = ${epoch} for share)
      update processes set ${inNewHands(sql)}
      where id = any(${ids}) and node_id = ${nodeId} and exists (select from session) and ${unheard(sql)}
      returning ${processColumns(sql)}, sealed`,
    );
    return inOrder(taken);
  },

  async putBack(starts, now) {
    const isStopped = sql`processes.stop is not null`;
    const rows = await againOnDeadlock(
      () => sql<{ id: string }[]>`
      update processes set
        status = case when ${isStopped} then 'canceled' else 'queued' end,
        concluded_at = case when ${isStopped} then ${now}::timestamptz end,
        sealed = case when not ${isStopped} then sealed end,
        stop = null, handed_out_at = null
      from ${inHand(sql, starts)} where ${isInHand(sql)}
      returning processes.id`,
    );
    return rows.map(({ id }) => id);
  },

  async endUnheard(starts, { status, reason, ...more }, now) {
    const detail = "detail" in more ? more.detail : null;
    const rows = await againOnDeadlock(
      () => sql<{ id: string }[]>`
      update processes set status = ${status}, reason = ${reason}, detail = ${detail}, concluded_at = ${now}, sealed = null,
        stop = null
      from ${inHand(sql, starts)} where ${isInHand(sql)}
      returning processes.id`,
    );
    return rows.map(({ id }) => id);
  },
});

// The database's clock: a row that waited for days has just begun to wait for its node's answer.
const inNewHands = (sql: Sql) => sql`hand_out = hand_out + 1, handed_out_at = now()`;

const unheard = (sql: Sql) => sql`status = 'starting' and revision = 0`;

const inHand = (sql: Sql, starts: HandOut[]) => sql`
  unnest(${starts.map(({ id }) => id)}::text[], ${starts.map(({ handOut }) => String(handOut))}::text[]::int[])
    as mine (id, hand_out)`;

const isInHand = (sql: Sql) => sql`
  processes.id = mine.id and processes.hand_out = mine.hand_out and ${unheard(sql)}`;

const startInHand = ({ sealed, ...record }: Taken): StartInHand => ({ ...processRow(record), sealed });

const inOrder = (taken: Taken[]): StartInHand[] =>
  taken.map(startInHand).toSorted((a, b) => (a.id < b.id ? -1 : 1));
