// A Postgres of its own beside the control planes, as one that several of them share.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { startEmbeddedPostgres } from "../../control-plane/store/embedded/start.ts";
import { childrenOf, cpuMs, endedChildrenCpuMs } from "../proc.ts";

export type SharedDatabase = {
  url: string;
  /** Commits of all sessions so far; a session tells its own at most once a second. */
  commits(): Promise<number>;
  /** CPU time of the server and all that served in it. */
  cpuMs(): Promise<number>;
  close(): Promise<void>;
};

export async function startDatabase(folder: string): Promise<SharedDatabase> {
  const server = await startEmbeddedPostgres({ dataDir: folder, log: { info: () => {} } });
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  return {
    url: server.url,
    async commits() {
      const [found] = await sql<{ commits: string }[]>`
        select xact_commit as commits from pg_stat_database where datname = current_database()`;
      return Number(found?.commits);
    },
    async cpuMs() {
      const pid = Number((await readFile(join(folder, "postgres/postmaster.pid"), "utf8")).split("\n")[0]);
      // One that ends between the look and the reading is counted with those that ended, the next time.
      const living = await Promise.all((await childrenOf(pid)).map((child) => cpuMs(child).catch(() => 0)));
      return living.reduce((sum, ms) => sum + ms, (await cpuMs(pid)) + (await endedChildrenCpuMs(pid)));
    },
    async close() {
      await sql.end({ timeout: 5 });
      await server.stop();
    },
  };
}
