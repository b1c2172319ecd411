import type { EndReason } from "#shared/process-state.ts";
import type { NodeRow, Sight } from "../store.ts";
import type { nodes } from "../../../drizzle/schema.ts";
import type { Sql } from "./client.ts";
import { isAlive } from "./instances.ts";
import { unfinished } from "./process-rows.ts";
import { seesNode } from "./sight.ts";
import { storable } from "./text.ts";

export type NodeRecord = typeof nodes.$inferSelect & { running: number; queued: number };

export const nodeRow = ({ joinTokenId: _joinTokenId, ...row }: NodeRecord): NodeRow => row;

/**
 * Nodes with the counts of what lives and waits on them, to be followed by `where`. A dead instance holds nothing, also before
 * it is buried: of two columns of one name the later counts.
 */
export const nodesWithCounts = (sql: Sql) => sql`
  select nodes.*, case when ${isAlive(sql, sql`nodes.held_by`)} then held_by end as held_by,
    counts.running, counts.queued
  from nodes cross join lateral (
    select count(*) filter (where status <> 'queued') as running, count(*) filter (where status = 'queued') as queued
    from processes where node_id = nodes.id and ${unfinished(sql)}) counts`;

/** By id or by name, with its counts, if it is seen. */
export async function findNode(sql: Sql, idOrName: string, within?: Sight): Promise<NodeRow | undefined> {
  const wanted = storable(idOrName);
  const [found] = await sql<NodeRecord[]>`
    ${nodesWithCounts(sql)} where (id = ${wanted} or name = ${wanted}) and ${seesNode(sql, within)}`;
  return found && nodeRow(found);
}

/** Whatever is unfinished on a node becomes `lost`, and what lived on there is no longer listed. */
export const loseUnfinished = (sql: Sql, lost: { nodeId: string; reason: EndReason; now: Date }) => sql`
  update processes set
    status = case when concluded_at is null then 'lost' else status end,
    reason = case when concluded_at is null then ${lost.reason} else reason end,
    concluded_at = coalesce(concluded_at, ${lost.now}),
    survivors = '[]'::jsonb, sealed = null, stop = null
  where node_id = ${lost.nodeId} and ${unfinished(sql)}`;
