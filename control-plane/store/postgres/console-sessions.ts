import type { consoleSessions, signInCodes } from "../../../drizzle/schema.ts";
import type { ConsoleSession, ConsoleSessions, SignInCode, SignInCodes } from "../console-sessions.ts";
import { json, type Sql } from "./client.ts";
import { oneOfMany } from "./one-of-many.ts";
import { storable } from "./text.ts";

// The record is the row: a column that the store's type lacks, or the other way round, is an error here.
type SessionRecord = typeof consoleSessions.$inferSelect & ConsoleSession;
type CodeRecord = typeof signInCodes.$inferSelect & SignInCode;

export const consoleSessionStore = (sql: Sql): ConsoleSessions => ({
  async create({ id, hash, tokenHash, user, createdAt, expiresAt }) {
    await sql`
      insert into console_sessions (id, hash, token_hash, "user", created_at, used_at, expires_at)
      values (${id}, ${hash}, ${tokenHash}, ${user && json(sql, storable(user))}, ${createdAt}, ${createdAt}, ${expiresAt})`;
  },

  withHash: oneOfMany(async (hashes) => {
    const found = await sql<SessionRecord[]>`select * from console_sessions where hash = any(${hashes})`;
    return new Map(found.map((session) => [session.hash, session]));
  }),

  async find(id) {
    const [found] = await sql<SessionRecord[]>`select * from console_sessions where id = ${id}`;
    return found;
  },

  async used(id, { now, before }) {
    await sql`update console_sessions set used_at = ${now} where id = ${id} and used_at < ${before}`;
  },

  async delete(id) {
    const { count } = await sql`delete from console_sessions where id = ${id}`;
    return count > 0;
  },

  async prune({ now, idleSince }) {
    const { count } = await sql`
      delete from console_sessions where expires_at <= ${now} or used_at <= ${idleSince}`;
    return count;
  },
});

export const signInCodeStore = (sql: Sql): SignInCodes => ({
  async create({ hash, tokenHash, expiresAt }) {
    await sql`
      insert into sign_in_codes (hash, token_hash, expires_at) values (${hash}, ${tokenHash}, ${expiresAt})`;
  },

  // Two at once: the row goes to one of them.
  async take(hash, now) {
    const [taken] = await sql<CodeRecord[]>`
      delete from sign_in_codes where hash = ${hash} and expires_at > ${now} returning *`;
    return taken?.tokenHash;
  },

  async prune(now) {
    const { count } = await sql`delete from sign_in_codes where expires_at <= ${now}`;
    return count;
  },
});
