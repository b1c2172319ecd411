import type { Nodes } from "../store.ts";
import { jsonOrNull } from "./client.ts";
import { type Pool } from "./pool.ts";
import { appendEvents } from "./events.ts";
import { maintenance } from "./maintenance.ts";
import { findNode, loseUnfinished, nodeRow, nodesWithCounts, type NodeRecord } from "./node-rows.ts";
import { oneOfMany } from "./one-of-many.ts";
import { presenceStore } from "./presence.ts";
import { sessionStore } from "./sessions.ts";
import { seesNode } from "./sight.ts";

const uniqueViolation = "23505";

export const nodeStore = (sql: Pool): Nodes => ({
  find: (idOrName, within) => findNode(sql, idOrName, within),

  async list({ after, limit, within }) {
    const found = await sql<NodeRecord[]>`
      ${nodesWithCounts(sql)} where ${seesNode(sql, within)}
      ${after === undefined ? sql`` : sql`and id < ${after}`} order by id desc limit ${limit}`;
    return found.map(nodeRow);
  },

  async patch(id, { name, labels, maxProcesses }) {
    try {
      await sql`
        update nodes set
          name = coalesce(${name ?? null}, name),
          labels = coalesce(${jsonOrNull(sql, labels)}, labels),
          max_processes = coalesce(${maxProcesses ?? null}, max_processes)
        where id = ${id}`;
    } catch (error) {
      if (isTaken(error)) return "taken";
      throw error;
    }
    return findNode(sql, id);
  },

  delete: (id, now) =>
    sql.begin(async (transaction) => {
      const [locked] = await transaction<{ name: string; labels: Record<string, string> }[]>`
        select name, labels from nodes where id = ${id} for update`;
      if (!locked) return false;
      await transaction`delete from nodes where id = ${id}`;
      await appendEvents(transaction, [{ at: now, type: "node.deleted", nodeId: id, data: locked }]);
      await loseUnfinished(transaction, { nodeId: id, reason: "node_deleted", now });
      return true;
    }),

  keyHash: oneOfMany(async (ids) => {
    const found = await sql<{ id: string; keyHash: string }[]>`
      select id, key_hash from nodes where id = any(${ids})`;
    return new Map(found.map(({ id, keyHash }) => [id, keyHash]));
  }),

  ...sessionStore(sql),
  ...presenceStore(sql),
  ...maintenance(sql),
});

const isTaken = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === uniqueViolation;
