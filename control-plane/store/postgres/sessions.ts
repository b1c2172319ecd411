// The session that holds a node. Its epoch is raised by each new one, and whatever a session writes names its epoch, so an older
// one writes nothing any more.

import type { NewSession, Nodes, NodeState, SessionOutcome } from "../store.ts";
import { json, type Sql } from "./client.ts";
import { eventOfEach } from "./events.ts";
import { isAlive } from "./instances.ts";
import { oneOfMany } from "./one-of-many.ts";
import { unfinished } from "./process-rows.ts";
import { storable } from "./text.ts";

type Sessions = Pick<Nodes, "connected" | "disconnected" | "heldElsewhere" | "state" | "unheard">;
type Held = { epoch: number; heldBy: string | null };

export const sessionStore = (sql: Sql): Sessions => ({
  async connected(id, hello) {
    const session = await take(sql, id, hello);
    if (session !== undefined) return { outcome: "connected", ...session };
    const [held] = await sql<Held[]>`select epoch, held_by from nodes where id = ${id}`;
    if (held === undefined) return { outcome: "unknown" };
    // Given up between the two statements: the caller asks again, and finds it free.
    return { outcome: "held", epoch: held.epoch, heldBy: held.heldBy ?? hello.instance };
  },

  async disconnected(id, { epoch, orderly, now }) {
    const type = orderly ? "node.offline" : "node.unreachable";
    await sql`
      with held as (
        select id from nodes where id = ${id} and epoch = ${epoch} and connected_at is not null for update
      ), ended as (
        update nodes set
          held_by = null, connected_at = null, disconnected_at = ${now}, orderly = ${orderly},
          offline_at = ${orderly ? now : null}
        from held where nodes.id = held.id
        returning nodes.id, name
      ) ${eventOfEach(sql, { from: "ended", type, at: now })}`;
  },

  state: oneOfMany(async (ids) => {
    const found = await sql<(NodeState & { id: string })[]>`
      select id, name, epoch, held_by, max_processes, exists (
        select from processes where node_id = nodes.id and status = 'queued' and ${unfinished(sql)}) as queued
      from nodes where id = any(${ids})`;
    return new Map(found.map((state) => [state.id, state]));
  }),

  async heldElsewhere(ids, instance) {
    const held = await sql<{ id: string }[]>`
      select id from nodes where id = any(${ids}) and held_by <> ${instance} and ${isAlive(sql, sql`held_by`)}`;
    return held.map((row) => row.id);
  },

  async unheard(instance, since) {
    const silent = await sql<{ id: string }[]>`
      select id from nodes where held_by = ${instance} and (last_seen_at is null or last_seen_at < ${since})`;
    return silent.map((row) => row.id);
  },
});

type Taken = Omit<Extract<SessionOutcome, { outcome: "connected" }>, "outcome">;

async function take(sql: Sql, id: string, hello: NewSession): Promise<Taken | undefined> {
  const { instance, from, facts, clockSkewMs, now } = hello;
  const { instanceId, machineId, bootId } = storable(hello);
  const [session] = await sql<Taken[]>`
    with former as (
      select id, machine_id, connected_at is null as was_away from nodes
      where id = ${id} and (
        held_by is null or held_by = ${instance} or instance_id = ${instanceId} or epoch = ${from ?? -1}
        or not ${isAlive(sql, sql`held_by`)})
      for update
    ), session as (
      update nodes set
        epoch = epoch + 1, instance_id = ${instanceId}, machine_id = ${machineId}, boot_id = ${bootId},
        facts = ${json(sql, facts)}, max_processes = coalesce(${facts.maxProcesses ?? null}, max_processes),
        clock_skew_ms = ${clockSkewMs}, held_by = ${instance}, connected_at = ${now}, last_seen_at = ${now},
        orderly = false, offline_at = null
      from former where nodes.id = former.id
      returning nodes.id, epoch, name, key_hash, max_processes, was_away,
        nullif(former.machine_id, ${machineId}) as former_machine_id,
        exists (select from processes where node_id = nodes.id and ${unfinished(sql)}) as unfinished
    ), told as (
      ${eventOfEach(sql, { from: "session", type: "node.online", at: now, where: sql`was_away` })}
    ) select epoch, name, key_hash, max_processes, former_machine_id, unfinished from session`;
  return session;
}
