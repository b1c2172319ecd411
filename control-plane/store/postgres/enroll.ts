// Enrolment happens in one transaction that holds the token's row: of many agents at once each finds the
// uses of those before it. A repeat comes first: its answer was lost on the way, it uses nothing and is
// right even when the token has expired since.

import type { EnrollOutcome, JoinTokens } from "../store.ts";
import type { joinTokens } from "../../../drizzle/schema.ts";
import { json, type Sql } from "./client.ts";
import { appendEvents } from "./events.ts";
import { findNode, loseUnfinished, nodeRow, nodesWithCounts, type NodeRecord } from "./node-rows.ts";

type EnrollInput = Parameters<JoinTokens["enroll"]>[0];
type Token = typeof joinTokens.$inferSelect;
type Refusal = Exclude<EnrollOutcome["outcome"], "enrolled" | "repeated">;

/** The rules of `JoinTokens.enroll`, inside a transaction. */
export async function enroll(sql: Sql, input: EnrollInput): Promise<EnrollOutcome> {
  const [token] = await sql<Token[]>`select * from join_tokens where hash = ${input.tokenHash} for update`;
  if (!token) return { outcome: "bad_token" };
  const repeated = await enrolledBefore(sql, token, input);
  if (repeated) return { outcome: "repeated", node: nodeRow(repeated), joinTokenId: token.id };
  const refusal = refusalOf(token, input);
  if (refusal) return { outcome: refusal };
  const placed = (await createNode(sql, token, input)) ?? (await replaceNode(sql, token, input));
  if (!placed) return { outcome: token.replace ? "name_online" : "name_taken" };
  await sql`update join_tokens set uses = uses + 1 where id = ${token.id}`;
  const node = await findNode(sql, placed.id);
  if (!node) throw new Error(`The node ${placed.id} vanished while it was enrolled.`);
  const data = { name: node.name, replaced: placed.replaced };
  await appendEvents(sql, [{ at: input.now, type: "node.enrolled", nodeId: node.id, data }]);
  const joinTokenId = token.id;
  return {
    outcome: "enrolled",
    node,
    joinTokenId,
    ...(placed.replaced ? { replacedNodeId: placed.id } : {}),
  };
}

async function enrolledBefore(sql: Sql, token: Token, input: EnrollInput): Promise<NodeRecord | undefined> {
  const [found] = await sql<NodeRecord[]>`
    ${nodesWithCounts(sql)} where join_token_id = ${token.id} and key_hash = ${input.keyHash}`;
  return found;
}

function refusalOf(token: Token, input: EnrollInput): Refusal | undefined {
  if (token.expiresAt <= input.now) return "expired";
  if (token.uses >= token.maxUses) return "used_up";
  if (token.nodeName !== null && token.nodeName !== input.name) return "name_mismatch";
  if (!token.allowLabels && Object.keys(input.labels).length > 0) return "labels_refused";
  return undefined;
}

type Placed = { id: string; replaced: boolean };

async function createNode(sql: Sql, token: Token, input: EnrollInput): Promise<Placed | undefined> {
  const labels = { ...input.labels, ...token.labels };
  const maxProcesses = input.facts.maxProcesses ?? input.defaultMaxProcesses;
  const created = await sql`
    insert into nodes (id, name, key_hash, join_token_id, labels, facts, max_processes, created_at)
    values (
      ${input.nodeId}, ${input.name}, ${input.keyHash}, ${token.id}, ${json(sql, labels)}, ${json(sql, input.facts)},
      ${maxProcesses}, ${input.now})
    on conflict (name) do nothing returning id`;
  return created.length > 0 ? { id: input.nodeId, replaced: false } : undefined;
}

/** The node keeps its id, name and what an admin set; key, facts and processes of the machine before it go. */
async function replaceNode(sql: Sql, token: Token, input: EnrollInput): Promise<Placed | undefined> {
  if (!token.replace) return undefined;
  const [old] = await sql<{ id: string }[]>`
    update nodes set
      key_hash = ${input.keyHash}, join_token_id = ${token.id}, facts = ${json(sql, input.facts)}, load = null,
      labels = ${json(sql, input.labels)} || labels || ${json(sql, token.labels)},
      max_processes = coalesce(${input.facts.maxProcesses ?? null}, max_processes),
      epoch = epoch + 1, instance_id = null, machine_id = null, boot_id = null
    where name = ${input.name} and connected_at is null
    returning id`;
  if (!old) return undefined;
  await loseUnfinished(sql, { nodeId: old.id, reason: "agent_state_lost", now: input.now });
  return { id: old.id, replaced: true };
}
