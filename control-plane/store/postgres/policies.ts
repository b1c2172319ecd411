import type { policies } from "../../../drizzle/schema.ts";
import type { Policies, StoredPolicy } from "../policies.ts";
import { json, type Sql } from "./client.ts";

const recentMs = 1000;
const fleet = "fleet";

type PolicyRecord = Pick<typeof policies.$inferSelect, "policy" | "updatedAt">;
type Reading = { at: number; row: Promise<StoredPolicy | undefined> };

export const policyStore = (sql: Sql, nowMs: () => number = () => performance.now()): Policies => {
  let last: Reading | undefined;

  const read = async (): Promise<StoredPolicy | undefined> => {
    const [row] = await sql<PolicyRecord[]>`select policy, updated_at from policies where name = ${fleet}`;
    return row;
  };

  return {
    fleet: read,
    recentFleet() {
      if (last !== undefined && nowMs() - last.at < recentMs) return last.row;
      const reading: Reading = { at: nowMs(), row: read() };
      last = reading;
      // What could not be read is asked again by the next start.
      reading.row.catch(() => {
        if (last === reading) last = undefined;
      });
      return reading.row;
    },
    async setFleet({ policy, updatedAt }) {
      await sql`
        insert into policies (name, policy, updated_at) values (${fleet}, ${json(sql, policy)}, ${updatedAt})
        on conflict (name) do update set policy = excluded.policy, updated_at = excluded.updated_at`;
      last = undefined;
    },
  };
};
