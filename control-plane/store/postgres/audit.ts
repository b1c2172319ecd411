import { gathered } from "#shared/gathered.ts";
import { isId } from "#shared/ids.ts";
import type { Audit, AuditEntry, AuditFilter } from "../audit.ts";
import type { audit } from "../../../drizzle/schema.ts";
import { json, type Sql } from "./client.ts";
import type { Pool } from "./pool.ts";
import { storable } from "./text.ts";

// The record is the row: a column that the store's type lacks, or the other way round, is an error here.
type AuditRecord = typeof audit.$inferSelect & AuditEntry;

/** Entries of one statement at most. */
const together = 500;

export const auditStore = (sql: Pool): Audit => ({
  append: gathered<AuditEntry, void>({
    lanes: 2,
    weigh: () => 1 / together,
    async ask(entries) {
      await insert(sql, entries);
      return entries.map(() => {});
    },
  }),

  async list({ after, limit, ...filter }) {
    const found = await sql<AuditRecord[]>`
      select * from audit where ${matches(sql, filter)}
      ${after === undefined ? sql`` : sql`and (at, id) < (${after.at}, ${after.id})`}
      order by at desc, id desc limit ${limit}`;
    return [...found];
  },

  prune: (before, limit) =>
    sql.begin(async (transaction) => {
      // The trigger lets go only what lies before this time, and only in this transaction.
      await transaction`select set_config('drover.audit_retention', ${before.toISOString()}, true)`;
      const { count } = await transaction`
        delete from audit where (at, id) in (
          select at, id from audit where at < ${before} order by at, id limit ${limit})`;
      return count;
    }),
});

/** The node of a process is its row's, and one that was named is looked up: in the same statement, so it costs no other. */
const insert = (sql: Sql, entries: AuditEntry[]) => sql`
  insert into audit (at, id, actor_kind, actor_id, actor_name, address, operation, object_kind, object_id,
    node_id, node_name, input, status, code, request_id)
  select given.at, given.id, "actorKind", "actorId", "actorName", address, operation, "objectKind",
    case when "objectKind" = 'node' then coalesce(node.id, "objectId") else "objectId" end,
    coalesce(node.id, process.node_id, case when "nodeName" is not null then "nodeId" end), coalesce(node.name, "nodeName"),
    input, status, code, "requestId"
  from jsonb_to_recordset(${json(sql, entries)}) as given (at timestamptz, id text, "actorKind" text, "actorId" text,
    "actorName" text, address text, operation text, "objectKind" text, "objectId" text, "nodeId" text, "nodeName" text,
    input jsonb, status int, code text, "requestId" text)
  left join lateral (
    select node_id from processes where given."objectKind" = 'process' and processes.id = given."objectId"
  ) process on true
  left join lateral (
    select id, name from nodes where id = coalesce(process.node_id, given."nodeId")
    union all select id, name from nodes where name = given."nodeId"
    limit 1
  ) node on true`;

const matches = (sql: Sql, filter: AuditFilter) => {
  const { actor, operation, objectId, node, statuses, code, from, to } = storable(filter);
  return sql`true
    ${actor === undefined ? sql`` : isId("tok", actor) || isId("sess", actor) ? sql`and actor_id = ${actor}` : sql`and actor_name = ${actor}`}
    ${operation === undefined ? sql`` : sql`and operation = ${operation}`}
    ${objectId === undefined ? sql`` : sql`and object_id = ${objectId}`}
    ${node === undefined ? sql`` : sql`and node_id = coalesce((select id from nodes where name = ${node}), ${node})`}
    ${statuses === undefined ? sql`` : sql`and status between ${statuses[0]} and ${statuses[1]}`}
    ${code === undefined ? sql`` : sql`and code = ${code}`}
    ${from === undefined ? sql`` : sql`and at >= ${from}`}
    ${to === undefined ? sql`` : sql`and at < ${to}`}`;
};
