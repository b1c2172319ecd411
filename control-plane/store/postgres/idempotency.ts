// A key is claimed by inserting it together with the id its object is going to have, worked under without any
// transaction or connection held, and settled when that object is there. Whether a claim that nobody settled was worked
// off is told by its object: if it exists, its id is the answer. If not, the claim is freed by its owner; where the
// control plane that worked for it died, or after a minute, a repeat of the same body takes it over.

import { DroverError } from "#shared/errors.ts";
import type { Idempotency } from "../store.ts";
import type { idempotencyKeys } from "../../../drizzle/schema.ts";
import type { Sql } from "./client.ts";
import { isAlive } from "./instances.ts";
import { storable } from "./text.ts";

type Claim = Parameters<Idempotency["once"]>[0];
type KeyRecord = typeof idempotencyKeys.$inferSelect & { exists: boolean };

const abandonedAfterMs = 60_000;
const waitLimitMs = 30_000;
const firstWaitMs = 5;
const longestWaitMs = 200;
const attempts = 7;
const firstAgainMs = 100;

export const idempotencyStore = (sql: Sql): Idempotency => ({
  async once(wanted, create) {
    const claim = storable(wanted);
    const deadline = performance.now() + waitLimitMs;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      if (await claimedOrFree(sql, claim)) return await work(sql, claim, create);
      const [seen] = await sql<KeyRecord[]>`
        select held.*, ${objectExists(sql)} as exists from idempotency_keys held
        where scope = ${claim.scope} and key = ${claim.key}`;
      if (seen && !digestsOf(claim).includes(seen.digest)) return { outcome: "mismatch" };
      if (seen && (seen.settled || seen.exists)) return { outcome: "replayed", objectId: seen.objectId };
      if (performance.now() > deadline)
        throw new DroverError("unavailable", "The first request with this Idempotency-Key is still at work.");
      await delay(waitMs);
    }
  },

  async prune(before) {
    const { count } = await sql`delete from idempotency_keys where claimed_at < ${before}`;
    return count;
  },
});

const objectExists = (sql: Sql) => sql`(
  exists (select from processes where id = held.object_id) or exists (select from join_tokens where id = held.object_id)
  or exists (select from nodes where lease_id = held.object_id) or exists (select from tokens where id = held.object_id)
  or exists (select from fanouts where id = held.object_id))`;

const digestsOf = ({ digest, olderDigests = [] }: Claim): string[] => [digest, ...olderDigests];

async function claimed(sql: Sql, claim: Claim): Promise<boolean> {
  const { scope, key, digest, objectId, instance, now } = claim;
  const abandonedBefore = new Date(now.getTime() - abandonedAfterMs);
  const rows = await sql`
    insert into idempotency_keys as held (scope, key, digest, object_id, claimed_at, claimed_by)
    values (${scope}, ${key}, ${digest}, ${objectId}, ${now}, ${instance})
    on conflict (scope, key) do update set
      claimed_at = excluded.claimed_at, object_id = excluded.object_id, claimed_by = excluded.claimed_by
    where not held.settled and held.digest = any(${digestsOf(claim)})
      and (held.claimed_at < ${abandonedBefore} or not ${isAlive(sql, sql`held.claimed_by`)})
      and not ${objectExists(sql)}
    returning scope`;
  return rows.length > 0;
}

/** A claim whose answer was cut off may have arrived, or be about to: it is freed a moment later. */
const claimedOrFree = (sql: Sql, claim: Claim): Promise<boolean> =>
  claimed(sql, claim).catch((error: unknown) => {
    void again(() => free(sql, claim));
    throw error;
  });

async function work(sql: Sql, claim: Claim, create: () => Promise<string>) {
  const objectId = await create().catch(async (error: unknown) => {
    await insistently(() => free(sql, claim));
    throw error;
  });
  await insistently(
    () =>
      sql`update idempotency_keys set object_id = ${objectId}, settled = true where ${isOurs(sql, claim)}`,
  );
  return { outcome: "created", objectId } as const;
}

const free = (sql: Sql, claim: Claim) =>
  sql`delete from idempotency_keys held where ${isOurs(sql, claim)} and not ${objectExists(sql)}`;

// Another one may have taken the claim over meanwhile.
const isOurs = (sql: Sql, { scope, key, objectId }: Claim) =>
  sql`scope = ${scope} and key = ${key} and object_id = ${objectId} and not settled`;

/** Tries at once, and where the database is away goes on behind the answer. */
async function insistently(act: () => Promise<unknown>): Promise<void> {
  const first = await act().then(
    () => true,
    () => false,
  );
  if (!first) void again(act);
}

async function again(act: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; attempt < attempts; attempt++) {
    await delay(firstAgainMs * 2 ** attempt);
    // What stays undone is found by a repeat, or by the next start.
    if (
      await act().then(
        () => true,
        () => false,
      )
    )
      return;
  }
}

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
