// A key is claimed by inserting it, worked under without any transaction or connection held, and settled by
// storing the object's id. A claim whose owner died is taken over after a minute by a repeat of the same body.

import { DroverError } from "#shared/errors.ts";
import type { Idempotency } from "../store.ts";
import type { idempotencyKeys } from "../../../drizzle/schema.ts";
import type { Sql } from "./client.ts";
import { storable } from "./text.ts";

type Claim = Parameters<Idempotency["once"]>[0];
type KeyRecord = typeof idempotencyKeys.$inferSelect;

const abandonedAfterMs = 60_000;
const waitLimitMs = 30_000;
const firstWaitMs = 5;
const longestWaitMs = 200;

export const idempotencyStore = (sql: Sql): Idempotency => ({
  async once(wanted, create) {
    const claim = storable(wanted);
    const deadline = performance.now() + waitLimitMs;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      if (await claimed(sql, claim))
        return { outcome: "created", objectId: await settle(sql, claim, create) };
      const [seen] = await sql<KeyRecord[]>`
        select * from idempotency_keys where scope = ${claim.scope} and key = ${claim.key}`;
      if (seen && seen.digest !== claim.digest) return { outcome: "mismatch" };
      if (seen && seen.objectId !== null) return { outcome: "replayed", objectId: seen.objectId };
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

async function claimed(sql: Sql, { scope, key, digest, now }: Claim): Promise<boolean> {
  const abandonedBefore = new Date(now.getTime() - abandonedAfterMs);
  const rows = await sql`
    insert into idempotency_keys as held (scope, key, digest, claimed_at) values (${scope}, ${key}, ${digest}, ${now})
    on conflict (scope, key) do update set claimed_at = excluded.claimed_at
    where held.object_id is null and held.digest = excluded.digest and held.claimed_at < ${abandonedBefore}
    returning scope`;
  return rows.length > 0;
}

async function settle(sql: Sql, { scope, key }: Claim, create: () => Promise<string>): Promise<string> {
  try {
    const objectId = await create();
    await sql`update idempotency_keys set object_id = ${objectId} where scope = ${scope} and key = ${key}`;
    return objectId;
  } catch (error) {
    await sql`delete from idempotency_keys where scope = ${scope} and key = ${key} and object_id is null`;
    throw error;
  }
}

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
