import { join } from "node:path";
import { placeBinaries } from "../../../control-plane/store/embedded/binaries.ts";
import { openCluster, superuser } from "../../../control-plane/store/embedded/cluster.ts";
import { isPostmasterOf, readPostmasterFile } from "../../../control-plane/store/embedded/postmaster.ts";
import { startServer, stopServer } from "../../../control-plane/store/embedded/server.ts";

/** A Postgres that can be killed and comes back on its port with its data. */
export type KillableDatabase = {
  /** Where it is; undefined: the control plane has it and knows. */
  address: { url: string; port: number } | undefined;
  kill(): Promise<void>;
  /** Resolves when it is there again; at once where somebody else brings it back. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** A server that nobody but the caller starts: what `DATABASE_URL` names in production. */
export async function externalDatabase(dataDir: string): Promise<KillableDatabase> {
  const binaries = await placeBinaries(dataDir);
  const cluster = await openCluster({ dataDir, binaries, durable: false });
  const plan = { binaries, cluster, logFile: join(dataDir, "postgres.log"), durable: false };
  const never = new AbortController().signal;
  let server = await startServer({ ...plan, signal: never });
  const { port } = server;
  return {
    address: { url: `postgres://${superuser}:${cluster.password}@127.0.0.1:${port}/postgres`, port },
    async kill() {
      process.kill(server.pid, "SIGKILL");
      await server.reaped?.();
    },
    async start() {
      server = await startServer({ ...plan, signal: never, port });
    },
    stop: () => stopServer(cluster.folder, server),
  };
}

/** The server of a control plane's own data folder, which it starts again by itself. */
export function embeddedDatabase(dataDir: string): KillableDatabase {
  const cluster = join(dataDir, "postgres");
  const send = async (signal: NodeJS.Signals): Promise<void> => {
    const pid = (await readPostmasterFile(cluster))?.pid;
    if (pid !== undefined && (await isPostmasterOf(cluster, pid))) process.kill(pid, signal);
  };
  return {
    address: undefined,
    kill: () => send("SIGKILL"),
    start: async () => undefined,
    stop: () => send("SIGQUIT"),
  };
}
