import type { Nodes } from "../store.ts";
import { jsonOrNull, type Pool } from "./client.ts";
import { maintenance } from "./maintenance.ts";
import { findNode, loseUnfinished, nodeRow, nodesWithCounts, type NodeRecord } from "./node-rows.ts";
import { sessionStore } from "./sessions.ts";

const uniqueViolation = "23505";

export const nodeStore = (sql: Pool): Nodes => ({
  find: (idOrName) => findNode(sql, idOrName),

  async list({ after, limit }) {
    const found = await sql<NodeRecord[]>`
      ${nodesWithCounts(sql)} ${after === undefined ? sql`` : sql`where id < ${after}`} order by id desc limit ${limit}`;
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
      const deleted = await transaction`delete from nodes where id = ${id} returning id`;
      if (deleted.length === 0) return false;
      await loseUnfinished(transaction, { nodeId: id, reason: "node_deleted", now });
      return true;
    }),

  async keyHash(id) {
    const [found] = await sql<{ keyHash: string }[]>`select key_hash from nodes where id = ${id}`;
    return found?.keyHash;
  },

  ...sessionStore(sql),
  ...maintenance(sql),
});

const isTaken = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === uniqueViolation;
