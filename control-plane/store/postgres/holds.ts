// A node that drains takes no start; one that is leased takes those of its lease. The rule stands in the statement that
// stores or hands out a start, which takes a share lock on the node's row: it sees the row as it is at that moment, and who
// changes it waits for the starts before. So when a drain or a lease has returned, no start that did not see it is to come.

import { holdOn, type Hold, type Maintenance } from "#shared/node-hold.ts";
import type { NewProcess } from "../store.ts";
import type { Sql } from "./client.ts";

/** The body of the (materialized) expression `node` that `isHeld` looks at; of an unknown node it has no row. */
export const heldNode = (sql: Sql, nodeId: string) =>
  sql`select drain_reason, lease_id, lease_expires_at from nodes where id = ${nodeId} for share`;

type Fragment = ReturnType<typeof heldNode>;

/** Whether `node` takes no start of this lease now. */
export const isHeld = (sql: Sql, now: Date, leaseId: Fragment) => sql`exists (
  select from node where node.drain_reason is not null
    or (node.lease_expires_at > ${now}::timestamptz and node.lease_id is distinct from ${leaseId}))`;

/** What keeps a start off its node; undefined if nothing does. */
export async function holdOf(
  sql: Sql,
  { nodeId, leaseId, createdAt }: NewProcess,
): Promise<Hold | undefined> {
  const [node] = await sql<Maintenance[]>`
    select drain_reason, drain_deadline_at, lease_id, lease_reason, lease_expires_at from nodes where id = ${nodeId}`;
  return node && holdOn(node, { leaseId, now: createdAt });
}
