// Storing a start is one statement, also with a key: claim of the key and row stand or fall together.

import type { InsertOutcome, NewProcess, Processes } from "../store.ts";
import type { processKeys } from "../../../drizzle/schema.ts";
import { json, type Sql } from "./client.ts";
import { heldNode, holdOf, isHeld } from "./holds.ts";
import { isClaim } from "./fanout-rows.ts";
import { processColumns, processRow, rowOfNew, unfinished, type ProcessRecord } from "./process-rows.ts";
import { storable } from "./text.ts";

type Starts = Pick<Processes, "insert" | "fenceKey" | "countQueued">;
type KeyRecord = typeof processKeys.$inferSelect;

const maxTries = 3;

export const starts = (sql: Sql): Starts => ({
  insert: (start) =>
    start.fanoutId === null
      ? insertStart(sql, storableStart(start))
      : insertClaimed(sql, storableStart(start)),

  async fenceKey({ nodeId, chatId, key, now }) {
    const scope = scopeOf(nodeId, chatId);
    for (let tries = 0; tries < maxTries; tries++) {
      const fenced = await sql`
        insert into process_keys (scope, key, created_at) values (${scope}, ${storable(key)}, ${now})
        on conflict do nothing returning scope`;
      if (fenced.length > 0) return { outcome: "fenced" };
      const seen = await keyRecord(sql, scope, storable(key));
      if (seen?.processId === null) return { outcome: "fenced" };
      const record = seen && (await recordOf(sql, seen.processId));
      if (record) return { outcome: "found", process: processRow(record) };
    }
    throw new Error(`The key of a process in ${scope} kept changing.`);
  },

  async countQueued() {
    const [found] = await sql<{ count: number }[]>`
      select count(*) from processes where ${unfinished(sql)} and status = 'queued'`;
    return found?.count ?? 0;
  },
});

// The sealed bytes pass as they are; everything else is text.
const storableStart = (start: NewProcess): NewProcess => storable(start);

const scopeOf = (nodeId: string, chatId: string | null) => chatId ?? nodeId;

// Where nothing was stored, it is told why by looking again; what was found may have changed since, then it is tried anew.
async function insertStart(sql: Sql, start: NewProcess): Promise<InsertOutcome> {
  const key = {
    scope: scopeOf(start.nodeId, start.launch.chatId),
    key: start.key ?? "",
    digest: start.digest,
    olderDigests: start.olderDigests ?? [],
  };
  for (let tries = 0; tries < maxTries; tries++) {
    const inserted = await (start.key === null ? insertPlain(sql, start) : insertKeyed(sql, start, key));
    if (inserted.length > 0) return { outcome: "inserted", process: rowOfNew(start) };
    // A key that was seen comes first: a repeat starts nothing.
    const outcome = start.key === null ? undefined : await outcomeOfKey(sql, key);
    if (outcome) return outcome;
    const hold = await holdOf(sql, start);
    if (hold) return { outcome: "held", hold };
    if (start.queueFull === true) return { outcome: "queue_full" };
  }
  throw new Error(`The key of a process in ${key.scope} or the state of its node kept changing.`);
}

type Key = { scope: string; key: string; digest: string; olderDigests: string[] };

const insertPlain = (sql: Sql, start: NewProcess) => sql`
  with node as materialized (${heldNode(sql, start.nodeId)})
  insert into processes (${insertColumns(sql)}) select ${insertValues(sql, start)}
  where not ${isRefused(sql, start)} returning id`;

const insertKeyed = (sql: Sql, start: NewProcess, { scope, key, digest }: Key) => sql`
  with node as materialized (${heldNode(sql, start.nodeId)}), claim as (
    insert into process_keys (scope, key, process_id, digest, created_at)
    select ${scope}::text, ${key}::text, ${start.id}::text, ${digest}::text, ${start.createdAt}::timestamptz
    where not ${isRefused(sql, start)}
    on conflict do nothing returning scope)
  insert into processes (${insertColumns(sql)}) select ${insertValues(sql, start)} from claim returning id`;

const isRefused = (sql: Sql, { createdAt, leaseId, queueFull }: NewProcess) => sql`
  (${queueFull === true}::boolean or ${isHeld(sql, createdAt, sql`${leaseId ?? null}::text`)})`;

/** The claim of a fan-out becomes a process: once, and not at all when the claim was taken back or the node takes no start. */
async function insertClaimed(sql: Sql, start: NewProcess): Promise<InsertOutcome> {
  const inserted = await sql`
    with node as materialized (${heldNode(sql, start.nodeId)}), claim as (
      update fanout_nodes set started_at = ${start.createdAt}
      where fanout_id = ${start.fanoutId} and node_id = ${start.nodeId} and process_id = ${start.id}
        and ${isClaim(sql)} and not ${isRefused(sql, start)}
      returning node_id)
    insert into processes (${insertColumns(sql)}) select ${insertValues(sql, start)} from claim returning id`;
  if (inserted.length > 0) return { outcome: "inserted", process: rowOfNew(start) };
  const hold = await holdOf(sql, start);
  if (hold) return { outcome: "held", hold };
  return { outcome: start.queueFull === true ? "queue_full" : "claim_gone" };
}

/** What a key that is taken means for a start; undefined when its process was deleted in between. */
async function outcomeOfKey(
  sql: Sql,
  { scope, key, digest, olderDigests }: Key,
): Promise<InsertOutcome | undefined> {
  const seen = await keyRecord(sql, scope, key);
  if (!seen) return undefined;
  if (seen.processId === null) return { outcome: "start_canceled" };
  if (![digest, ...olderDigests].includes(seen.digest ?? "")) return { outcome: "mismatch" };
  const record = await recordOf(sql, seen.processId);
  return record && { outcome: "attached", process: processRow(record) };
}

const keyRecord = async (sql: Sql, scope: string, key: string): Promise<KeyRecord | undefined> =>
  (await sql<KeyRecord[]>`select * from process_keys where scope = ${scope} and key = ${key}`)[0];

const recordOf = async (sql: Sql, id: string): Promise<ProcessRecord | undefined> =>
  (await sql<ProcessRecord[]>`select ${processColumns(sql)} from processes where id = ${id}`)[0];

const insertColumns = (sql: Sql) => sql`
  id, node_id, chat_id, fanout_id, key, launch, sealed, background, labels, if_offline, queue_ttl_ms, lease_id, status, created_at,
  handed_out_at`;

const insertValues = (sql: Sql, start: NewProcess) => sql`
  ${start.id}::text, ${start.nodeId}::text, ${start.launch.chatId}::text,
  ${start.fanoutId}::text, ${start.key}::text,
  ${json(sql, start.launch)}::jsonb, ${start.sealed}::bytea, ${start.background}::boolean,
  ${json(sql, start.labels)}::jsonb, ${start.ifOffline}::text, ${start.queueTtlMs}::bigint, ${start.leaseId ?? null}::text,
  ${start.status}::text,
  ${start.createdAt}::timestamptz, ${start.status === "starting" ? start.createdAt : null}::timestamptz`;
