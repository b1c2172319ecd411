// A step of a fan-out: one transaction under the lock of its row, which another one that comes meanwhile does not wait for.
// All statements are over sets: their number does not grow with the nodes.

import { canceling, isFinalFanout, nodeEndings } from "#shared/fanout-state.ts";
import type { Advance, Advanced, Claim, FanoutRow, Fanouts, Outlook } from "../fanouts.ts";
import { json, type Sql } from "./client.ts";
import { type Pool } from "./pool.ts";
import { digestsOf } from "./fanout-output.ts";
import { fanoutRow, fanoutsWithCounts, isClaim, type FanoutRecord } from "./fanout-rows.ts";

export const advance = (sql: Pool): Pick<Fanouts, "advance"> => ({
  advance: (id, how) =>
    sql.begin(async (transaction) => {
      const held = await transaction`
        select 1 from fanouts where id = ${id} and ended_at is null for update skip locked`;
      if (held.length > 0) return step(transaction, await fanoutOf(transaction, id), how);
      const open = await transaction`select 1 from fanouts where id = ${id} and ended_at is null`;
      return { outcome: open.length > 0 ? "busy" : "closed" };
    }),
});

async function step(sql: Sql, before: FanoutRow, how: Advance): Promise<Advanced> {
  const { id } = before;
  const ended = await takeEndings(sql, before, how.now);
  let fanout = ended.length > 0 ? await fanoutOf(sql, id) : before;
  let outlook = how.outlook(fanout);
  if (outlook.expire) {
    await expire(sql, id, how.now);
    fanout = await fanoutOf(sql, id);
    outlook = how.outlook(fanout);
  }
  const chosen = outlook.room > 0 ? await choose(sql, fanout, { outlook, how }) : nothingChosen;
  const isSteered = outlook.status !== before.status || outlook.reason !== before.reason;
  if (isSteered) await steer(sql, id, outlook, how.now);
  const isLate =
    before.lastStartAt !== null && before.lastStartAt.getTime() + how.staleMs <= how.now.getTime();
  const changed =
    isSteered ||
    ended.length > 0 ||
    chosen.claims.length + chosen.skipped > 0 ||
    fanout.counts !== before.counts;
  return {
    outcome: "advanced",
    fanout: { ...fanout, status: outlook.status, reason: outlook.reason },
    changed,
    ended,
    starts: [...chosen.claims, ...(isLate ? await unstarted(sql, id, chosen.claims) : [])],
    stops: outlook.reason === canceling ? await unstopped(sql, id) : [],
    lookAt: chosen.more ? how.now : outlook.lookAt,
  };
}

async function fanoutOf(sql: Sql, id: string): Promise<FanoutRow> {
  const [found] = await sql<FanoutRecord[]>`${fanoutsWithCounts(sql)} where id = ${id}`;
  if (found === undefined) throw new Error(`The fan-out ${id} is gone in the middle of its step.`);
  return fanoutRow(found);
}

/** Takes over how the processes of started nodes ended; returns these processes. */
async function takeEndings(sql: Sql, fanout: FanoutRow, now: Date): Promise<string[]> {
  const isCanceled = fanout.reason === canceling;
  // What surely never arrived waits on for its node.
  const mayWait = fanout.plan.ifOffline === "queue" && !isCanceled;
  const taken = await sql<{ processId: string }[]>`
    with ended as (
      select node.node_id, node.process_id, p.id is null as gone, p.status, p.exit_code, p.signal, p.reason,
        coalesce(p.exited_at, p.concluded_at, ${now}) as ended_at
      from fanout_nodes node left join processes p on p.id = node.process_id
      where node.fanout_id = ${fanout.id} and node.status = 'running' and node.started_at is not null
        and (p.id is null or p.concluded_at is not null)
    ), told as (
      select *, case
        when gone then 'lost'
        when status = 'exited' and exit_code = 0 then 'succeeded'
        when status = 'killed' and ${isCanceled}::boolean then 'canceled'
        when status = 'expired' and ${mayWait}::boolean then 'waiting'
        else ${json(sql, nodeEndings)}::jsonb ->> status end as next
      from ended
    ), ${digestsOf(sql, sql`told`)}
    update fanout_nodes node set
      status = told.next,
      reason = case when gone then 'process_deleted' else
        coalesce(told.reason, case when told.signal is not null then 'signal' end) end,
      exit_code = told.exit_code,
      sha256 = case when next not in ('waiting', 'skipped') and not gone then digests.digest end,
      process_id = case when next <> 'waiting' then node.process_id end,
      started_at = case when next <> 'waiting' then node.started_at end,
      ended_at = case when next <> 'waiting' then told.ended_at end
    from told left join digests using (process_id)
    where node.fanout_id = ${fanout.id} and node.node_id = told.node_id
    returning told.process_id`;
  return taken.map(({ processId }) => processId);
}

const expire = (sql: Sql, id: string, now: Date) => sql`
  update fanout_nodes set status = 'skipped', reason = 'expired', ended_at = ${now}
  where fanout_id = ${id} and status = 'waiting'`;

type Chosen = { claims: Claim[]; skipped: number; more: boolean };
type Candidate = { nodeId: string; fate: "ready" | "node_deleted" | "node_offline" };

const nothingChosen: Chosen = { claims: [], skipped: 0, more: false };

/** Goes through those that wait, in order, as far as there is room: claims who is there, skips who will not be. */
async function choose(
  sql: Sql,
  fanout: FanoutRow,
  { outlook, how }: { outlook: Outlook; how: Advance },
): Promise<Chosen> {
  const limit = Math.min(outlook.room, how.batch);
  const candidates = await candidatesOf(sql, fanout, { ...how, limit });
  const ready = candidates.filter(({ fate }) => fate === "ready");
  const claims = ready.map(({ nodeId }) => ({ nodeId, processId: how.newProcessId() }));
  const skipped = candidates.filter(({ fate }) => fate !== "ready");
  if (claims.length > 0) await claim(sql, fanout.id, claims, how.now);
  if (skipped.length > 0) await skip(sql, fanout.id, skipped, how.now);
  // Who was skipped leaves their room to the next; and a batch that was full may not have used all of it.
  const more = skipped.length > 0 || (candidates.length === how.batch && outlook.room > how.batch);
  return { claims, skipped: skipped.length, more };
}

async function candidatesOf(
  sql: Sql,
  { id, plan, createdAt }: FanoutRow,
  { now, graceMs, limit }: { now: Date; graceMs: number; limit: number },
): Promise<Candidate[]> {
  const graceFrom = new Date(Math.max(createdAt.getTime(), now.getTime() - graceMs));
  const found = await sql<Candidate[]>`
    select * from (
      select waiting.node_id, waiting.position, case
        when node.id is null then 'node_deleted'
        when node.connected_at is not null then 'ready'
        when ${plan.ifOffline}::text = 'queue' then 'away'
        when not node.orderly and node.disconnected_at > ${graceFrom} then 'away'
        else 'node_offline' end as fate
      from fanout_nodes waiting left join nodes node on node.id = waiting.node_id
      where waiting.fanout_id = ${id} and waiting.status = 'waiting') candidate
    where fate <> 'away' order by position limit ${limit}`;
  return found.map(({ nodeId, fate }) => ({ nodeId, fate }));
}

async function claim(sql: Sql, id: string, claims: Claim[], now: Date): Promise<void> {
  await sql`
    update fanout_nodes node set status = 'running', reason = null, process_id = claim.process_id
    from unnest(${claims.map(({ nodeId }) => nodeId)}::text[], ${claims.map(({ processId }) => processId)}::text[])
      as claim (node_id, process_id)
    where node.fanout_id = ${id} and node.node_id = claim.node_id`;
  await sql`update fanouts set last_start_at = ${now} where id = ${id}`;
}

const skip = (sql: Sql, id: string, candidates: Candidate[], now: Date) => sql`
  update fanout_nodes node set status = 'skipped', reason = skipped.fate, ended_at = ${now}
  from unnest(${candidates.map(({ nodeId }) => nodeId)}::text[], ${candidates.map(({ fate }) => fate)}::text[])
    as skipped (node_id, fate)
  where node.fanout_id = ${id} and node.node_id = skipped.node_id`;

async function steer(sql: Sql, id: string, { status, reason }: Outlook, now: Date): Promise<void> {
  const endedAt = isFinalFanout(status) ? now : null;
  // Of one that succeeded nothing can start any more.
  await sql`
    update fanouts set status = ${status}, reason = ${reason}, ended_at = ${endedAt},
      sealed = case when ${status}::text = 'succeeded' then null else sealed end
    where id = ${id}`;
  if (status === "paused")
    await sql`update fanout_nodes set status = 'waiting', process_id = null where fanout_id = ${id} and ${isClaim(sql)}`;
}

/** Claims whose start was cut off: whoever made them may be dead. */
async function unstarted(sql: Sql, id: string, fresh: Claim[]): Promise<Claim[]> {
  const known = new Set(fresh.map(({ processId }) => processId));
  const found = await sql<Claim[]>`
    select node_id, process_id from fanout_nodes where fanout_id = ${id} and ${isClaim(sql)}`;
  return found
    .filter(({ processId }) => !known.has(processId))
    .map(({ nodeId, processId }) => ({ nodeId, processId }));
}

async function unstopped(sql: Sql, id: string): Promise<string[]> {
  const found = await sql<{ id: string }[]>`
    select p.id from fanout_nodes node join processes p on p.id = node.process_id
    where node.fanout_id = ${id} and node.status = 'running' and p.concluded_at is null and p.stop is null`;
  return found.map((row) => row.id);
}
