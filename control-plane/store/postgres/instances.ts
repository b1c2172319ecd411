import type { Instances } from "../cluster.ts";
import type { Sql } from "./client.ts";
import type { Pool } from "./pool.ts";
import { eventOfEach } from "./events.ts";

/** An instance that did not say for this long that it lives is dead. */
const deadAfterMs = 15_000;
const lettersKeptMs = 300_000;

/** Whether the instance of this id, a column of the statement around, is alive. */
export const isAlive = (sql: Sql, id: ReturnType<Sql>) => sql`exists (
  select from instances living
  where living.id = ${id} and living.seen_at >= now() - ${deadAfterMs} * interval '1 millisecond')`;

export const instanceStore = (sql: Pool): Instances => ({
  async register({ id, place, version, forever = false }) {
    const seenAt = forever ? sql`'infinity'::timestamptz` : sql`now()`;
    await sql`
      insert into instances (id, place, version, started_at, seen_at)
      values (${id}, ${place}, ${version}, now(), ${seenAt})
      on conflict (id) do update set seen_at = ${seenAt}, version = ${version}`;
  },

  async beat(id) {
    const beaten = await sql`update instances set seen_at = now() where id = ${id} returning id`;
    if (beaten.length === 0) return undefined;
    const alive = await sql<
      { id: string }[]
    >`select id from instances where ${isAlive(sql, sql`instances.id`)}`;
    return alive.map((row) => row.id);
  },

  async time() {
    const [found] = await sql<{ at: Date }[]>`select clock_timestamp() as at`;
    if (found === undefined) throw new Error("The database did not say what time it is.");
    return found.at;
  },

  bury: () =>
    sql.begin(async (transaction) => {
      const dead = await transaction<{ id: string }[]>`
        delete from instances where not ${isAlive(transaction, transaction`instances.id`)} returning id`;
      const nodes = await freeNodes(transaction);
      await transaction`
        delete from relay where sent_at < now() - ${lettersKeptMs} * interval '1 millisecond'
          or not exists (select from instances where id = recipient)`;
      return { instances: dead.map((row) => row.id), nodes };
    }),

  remove: (which) =>
    sql.begin(async (transaction) => {
      await transaction`
        delete from instances where ${"only" in which ? transaction`id = ${which.only}` : transaction`id <> ${which.allBut}`}`;
      return freeNodes(transaction);
    }),
});

/** Nodes whose holder is no instance any more are held by nobody; they were seen last when the database says so. */
async function freeNodes(sql: Sql): Promise<string[]> {
  const freed = await sql<{ id: string }[]>`
    with held as (
      select id from nodes
      where held_by is not null and not exists (select from instances where instances.id = held_by)
      order by id for update
    ), freed as (
      update nodes set held_by = null, connected_at = null, disconnected_at = now(), orderly = false
      from held where nodes.id = held.id
      returning nodes.id, name
    ), told as (
      ${eventOfEach(sql, { from: "freed", type: "node.unreachable", at: sql`now()` })}
    ) select id from freed`;
  return freed.map((row) => row.id);
}
