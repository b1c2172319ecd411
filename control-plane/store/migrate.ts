// Migrations are applied in the order of their tags, all in one transaction under one advisory lock:
// of several starts at once one works and the others find the work done. A migration is known by its tag
// and the hash of its text; one that was applied must never change. A migration that is missing is applied
// also when a later one is there already, which happens when two branches meet.
// Because of the one transaction no migration may use CREATE INDEX CONCURRENTLY.

import { migrations, type Migration } from "../../drizzle/migrations.generated.ts";
import type { DatabaseOptions, Sql } from "./postgres/client.ts";
import { openPool } from "./postgres/pool.ts";

const lockKey = 4_600_187_302;
const lockLimitMs = 60_000;

type Applied = { tag: string; hash: string };

/** Brings the schema of a database up to date and returns the tags it applied; safe to call from many starts at once. */
export async function migrate(
  database: DatabaseOptions,
  wanted: readonly Migration[] = migrations,
): Promise<string[]> {
  const sql = openPool({ ...database, poolSize: 1 });
  try {
    return await sql.begin(async (transaction) => {
      await transaction.unsafe(`set local lock_timeout = ${lockLimitMs}`);
      await transaction.unsafe("set local statement_timeout = 0");
      await transaction`select pg_advisory_xact_lock(${lockKey})`;
      await transaction.unsafe(historyTable);
      const missing = notIn(await transaction<Applied[]>`select tag, hash from drover_migrations`, wanted);
      for (const { tag, hash, sql: text } of missing) {
        await transaction.unsafe(text);
        await transaction`insert into drover_migrations (tag, hash) values (${tag}, ${hash})`;
      }
      return missing.map((migration) => migration.tag);
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The tags that this build has and the database lacks; empty when the schema is current. */
export async function migrationsPending(
  sql: Sql,
  wanted: readonly Migration[] = migrations,
): Promise<string[]> {
  const [found] = await sql<
    { exists: boolean }[]
  >`select to_regclass('drover_migrations') is not null as exists`;
  if (!found?.exists) return wanted.map((migration) => migration.tag);
  const applied = await sql<Applied[]>`select tag, hash from drover_migrations`;
  return notIn(applied, wanted).map((migration) => migration.tag);
}

const historyTable = `create table if not exists drover_migrations (
  tag text primary key, hash text not null, applied_at timestamptz not null default now()
)`;

function notIn(applied: Applied[], wanted: readonly Migration[]): Migration[] {
  const hashes = new Map(applied.map(({ tag, hash }) => [tag, hash]));
  const changed = wanted.find(({ tag, hash }) => hashes.has(tag) && hashes.get(tag) !== hash);
  if (changed) throw new Error(`Migration ${changed.tag} was applied to this database with another text.`);
  return wanted.filter(({ tag }) => !hashes.has(tag)).toSorted((a, b) => (a.tag < b.tag ? -1 : 1));
}
