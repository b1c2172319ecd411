import type { EnrollOutcome, JoinTokenRow, JoinTokens } from "../store.ts";
import type { joinTokens } from "../../../drizzle/schema.ts";
import { json } from "./client.ts";
import { type Pool } from "./pool.ts";
import { enroll } from "./enroll.ts";

type JoinTokenRecord = typeof joinTokens.$inferSelect;

export const joinTokenStore = (sql: Pool): JoinTokens => ({
  async create(token) {
    await sql`
      insert into join_tokens (
        id, hash, ttl_ms, max_uses, uses, node_name, labels, allow_labels, replace, expires_at, created_at)
      values (
        ${token.id}, ${token.hash}, ${token.ttlMs}, ${token.maxUses}, ${token.uses}, ${token.nodeName ?? null},
        ${json(sql, token.labels)}, ${token.allowLabels}, ${token.replace}, ${token.expiresAt}, ${token.createdAt})`;
  },

  async find(id) {
    const [found] = await sql<JoinTokenRecord[]>`select * from join_tokens where id = ${id}`;
    return found && tokenRow(found);
  },

  enroll: (input): Promise<EnrollOutcome> => sql.begin((transaction) => enroll(transaction, input)),
});

const tokenRow = ({ nodeName, ...token }: JoinTokenRecord): JoinTokenRow =>
  nodeName === null ? token : { ...token, nodeName };
