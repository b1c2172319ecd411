// Asking to stop: the wish is a field of the row until the ending, so that a reconnect asks again.

import type { Processes } from "../store.ts";
import type { Sql } from "./client.ts";
import { againOnDeadlock } from "./deadlock.ts";
import { processColumns, processRow, unfinished, type ProcessRecord } from "./process-rows.ts";

type Stops = Pick<Processes, "requestStop" | "stopDrained" | "askedToStop">;
type Stopped = Awaited<ReturnType<Processes["stopDrained"]>>[number];

/** A stop that was asked for this long ago, and its grace, was not heard. */
const unheardMs = 30_000;

export const stops = (sql: Sql): Stops => ({
  async requestStop(id, { graceMs, reason, now }) {
    const [stopped] = await sql<ProcessRecord[]>`
      update processes set
        status = case status when 'queued' then 'canceled' when 'running' then 'stopping' else status end,
        concluded_at = case status when 'queued' then ${now} else concluded_at end,
        sealed = case status when 'queued' then null else sealed end,
        stop = case status when 'queued' then null else jsonb_build_object(
          'graceMs', least((stop->>'graceMs')::bigint, ${graceMs}::bigint),
          'reason', coalesce(stop->>'reason', ${reason}::text)) end
      where id = ${id} and ${unfinished(sql)}
      returning ${processColumns(sql)}`;
    if (stopped) return processRow(stopped);
    const [ended] = await sql<ProcessRecord[]>`select ${processColumns(sql)} from processes where id = ${id}`;
    return ended && processRow(ended);
  },

  async stopDrained(now) {
    const graceMs = sql`(p.launch->>'graceMs')::bigint`;
    const rows = await againOnDeadlock(
      () => sql<Stopped[]>`
      update processes p set
        status = case p.status when 'running' then 'stopping' else p.status end,
        stop = jsonb_build_object(
          'graceMs', least((p.stop->>'graceMs')::bigint, ${graceMs}),
          'reason', coalesce(p.stop->>'reason', 'node_drained'))
      from nodes
      where p.node_id = nodes.id and nodes.drain_deadline_at <= ${now} and ${unfinished(sql)} and p.status <> 'queued'
        and (p.stop is null or (p.stop->>'graceMs')::bigint > ${graceMs}
          or nodes.drain_deadline_at + (${graceMs} + ${unheardMs}::bigint) * interval '1 millisecond' <= ${now})
      returning p.id, p.node_id, p.stop`,
    );
    return [...rows];
  },

  async askedToStop(instance) {
    const rows = await sql<Stopped[]>`
      select p.id, p.node_id, p.stop from processes p join nodes on nodes.id = p.node_id
      where p.stop is not null and ${unfinished(sql)} and p.status <> 'queued' and nodes.held_by = ${instance}`;
    return [...rows];
  },
});
