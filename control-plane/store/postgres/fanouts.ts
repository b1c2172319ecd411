import type { FanoutNodeRow, Fanouts } from "../fanouts.ts";
import { json, type Sql } from "./client.ts";
import { type Pool } from "./pool.ts";
import { advance } from "./fanout-advance.ts";
import { output } from "./fanout-output.ts";
import { fanoutRow, fanoutsWithCounts, nodeColumns, type FanoutRecord } from "./fanout-rows.ts";
import { steering } from "./fanout-steering.ts";
import { seesFanout, seesFanoutNode } from "./sight.ts";
import { storable } from "./text.ts";

type Reading = Pick<Fanouts, "get" | "list" | "isWithin" | "sealed" | "open" | "running" | "nodes" | "begun">;

export const fanoutStore = (sql: Pool): Fanouts => ({
  async create(fanout) {
    const { id, selector, process, sealed, plan, createdBy, createdAt, expiresAt, nodes } = storable(fanout);
    await sql`
      with made as (
        insert into fanouts (id, selector, process, sealed, plan, status, created_by, created_at, expires_at)
        values (${id}, ${selector}, ${json(sql, process)}, ${sealed}, ${json(sql, plan)}, 'running', ${createdBy}, ${createdAt},
          ${expiresAt})
        returning id)
      insert into fanout_nodes (fanout_id, node_id, node_name, position, status, attempt)
      select made.id, node.id, node.name, node.place - 1, 'waiting', 1
      from made, unnest(${nodes.map((node) => node.id)}::text[], ${nodes.map((node) => node.name)}::text[])
        with ordinality as node (id, name, place)`;
  },

  async prune(before, limit) {
    const { count } = await sql`
      delete from fanouts where id in (
        select id from fanouts where ended_at < ${before} order by ended_at limit ${limit} for update skip locked)`;
    return count;
  },

  ...reading(sql),
  ...steering(sql),
  ...advance(sql),
  ...output(sql),
});

const reading = (sql: Sql): Reading => ({
  async get(id, within) {
    const [found] = await sql<FanoutRecord[]>`
      ${fanoutsWithCounts(sql, within)} where id = ${id} and ${seesFanout(sql, within)}`;
    return found && fanoutRow(found);
  },

  async list({ after, limit, within }) {
    const found = await sql<FanoutRecord[]>`
      ${fanoutsWithCounts(sql, within)} where ${seesFanout(sql, within)}
      ${after === undefined ? sql`` : sql`and id < ${after}`} order by id desc limit ${limit}`;
    return found.map(fanoutRow);
  },

  async isWithin(id, within) {
    const outside = await sql`
      select from fanout_nodes where fanout_id = ${id} and not ${seesFanoutNode(sql, within)} limit 1`;
    return outside.length === 0;
  },

  async sealed(id) {
    const [found] = await sql<{ sealed: Uint8Array | null }[]>`select sealed from fanouts where id = ${id}`;
    return found?.sealed ?? null;
  },

  async open() {
    const found = await sql<{ id: string }[]>`select id from fanouts where ended_at is null order by id`;
    return found.map(({ id }) => id);
  },

  async running(id) {
    const found = await sql<{ processId: string }[]>`
      select process_id from fanout_nodes
      where fanout_id = ${id} and status = 'running' and started_at is not null and process_id is not null`;
    return found.map(({ processId }) => processId);
  },

  async nodes(id, { after = -1, limit, within }) {
    const found = await sql<FanoutNodeRow[]>`
      select ${nodeColumns(sql)} from fanout_nodes
      where fanout_id = ${id} and position > ${after} and ${seesFanoutNode(sql, within)}
      order by position limit ${limit}`;
    return [...found];
  },

  async begun(id, within) {
    const found = await sql<FanoutNodeRow[]>`
      select ${nodeColumns(sql)} from fanout_nodes
      where fanout_id = ${id} and status <> 'waiting' and ${seesFanoutNode(sql, within)} order by position`;
    return [...found];
  },
});
