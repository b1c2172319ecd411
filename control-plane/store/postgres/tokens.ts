import type { tokens } from "../../../drizzle/schema.ts";
import type { TokenRow, Tokens } from "../tokens.ts";
import { json, type Sql } from "./client.ts";
import { oneOfMany } from "./one-of-many.ts";
import { storable } from "./text.ts";

// The record is the row: a column that the store's type lacks, or the other way round, is an error here.
type TokenRecord = typeof tokens.$inferSelect & TokenRow;

export const tokenStore = (sql: Sql): Tokens => ({
  async create(token) {
    const { id, hash, name, role, scope, createdBy, createdAt, expiresAt } = storable(token);
    await sql`
      insert into tokens (id, hash, name, role, scope, created_by, created_at, expires_at)
      values (${id}, ${hash}, ${name}, ${role}, ${json(sql, scope)}, ${createdBy}, ${createdAt}, ${expiresAt})`;
  },

  withHash: oneOfMany(async (hashes) => {
    const found = await sql<TokenRecord[]>`select * from tokens where hash = any(${hashes})`;
    return new Map(found.map((token) => [token.hash, token]));
  }),

  async find(id) {
    const [found] = await sql<TokenRecord[]>`select * from tokens where id = ${id}`;
    return found;
  },

  async list({ createdBy, after, limit }) {
    const found = await sql<TokenRecord[]>`
      select * from tokens where true
      ${createdBy === undefined ? sql`` : sql`and created_by = ${createdBy}`}
      ${after === undefined ? sql`` : sql`and id < ${after}`}
      order by id desc limit ${limit}`;
    return [...found];
  },

  async used(id, { now, before }) {
    await sql`
      update tokens set last_used_at = ${now}
      where id = ${id} and (last_used_at is null or last_used_at < ${before})`;
  },

  async delete(id) {
    const { count } = await sql`delete from tokens where id = ${id}`;
    return count > 0;
  },

  async prune(before) {
    const { count } = await sql`delete from tokens where expires_at < ${before}`;
    return count;
  },
});
