import type { secrets } from "../../../drizzle/schema.ts";
import type { SecretRow, Secrets } from "../secrets.ts";
import type { Sql } from "./client.ts";

type SecretRecord = typeof secrets.$inferSelect;

export const secretStore = (sql: Sql): Secrets => ({
  async set({ name, sealed, now }) {
    // Only a row that was there has a transaction that locked it.
    const [row] = await sql<(SecretRow & { created: boolean })[]>`
      insert into secrets (name, sealed, created_at, updated_at) values (${name}, ${sealed}, ${now}, ${now})
      on conflict (name) do update set sealed = excluded.sealed, updated_at = excluded.updated_at
      returning name, created_at, updated_at, xmax = 0 as created`;
    if (row === undefined) throw new Error("a secret that was stored was not returned");
    const { created, ...stored } = row;
    return { row: stored, created };
  },

  list: ({ limit, after = "" }) => sql<SecretRow[]>`
    select name, created_at, updated_at from secrets where name > ${after} order by name limit ${limit}`,

  async sealed(names) {
    const rows = await sql<Pick<SecretRecord, "name" | "sealed">[]>`
      select name, sealed from secrets where name = any(${names})`;
    return new Map(rows.map(({ name, sealed }) => [name, sealed]));
  },

  async delete(name) {
    const { count } = await sql`delete from secrets where name = ${name}`;
    return count > 0;
  },
});
