// The life of the embedded database, in the order of `startEmbeddedPostgres`:
//   lock the data folder → place the binaries → make or open the cluster → adopt or start its server.
// The server is not a child that matters: it survives a control plane that is killed, and the next one
// adopts it. It is ours when the process of `postmaster.pid` runs this very cluster and answers on the
// port written there with our password. A `postmaster.pid` whose number belongs to something else is stale.

import { chmod, mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { placeBinaries, removeOlderBinaries } from "./binaries.ts";
import { openCluster, superuser, type Cluster } from "./cluster.ts";
import { embeddedError, failureFromSystem } from "./failure.ts";
import { keepRunning } from "./keep.ts";
import { lockFolder } from "./lock.ts";
import { isPostmasterOf, readPostmasterFile, type PostmasterFile } from "./postmaster.ts";
import { endsWithin, startServer, stopServer, type RunningServer } from "./server.ts";

const adoptLimitMs = 30_000;

export type EmbeddedOptions = {
  dataDir: string;
  /** One event an operation, `noun.verb` and its fields. */
  log: { info(event: string, fields?: Record<string, unknown>): void };
  signal?: AbortSignal;
  /** False gives up safety against a power cut for speed: for tests only. */
  durable?: boolean;
};

export type EmbeddedPostgres = {
  /** Connects as the owner of the cluster; holds the password. */
  url: string;
  /** True when a server that outlived its control plane was taken over. */
  adopted: boolean;
  /** Stops the server in order (at most 15 s) and gives the data folder free; safe to call twice. */
  stop(): Promise<void>;
};

/**
 * Starts, or adopts, the Postgres of a data folder and resolves when it accepts connections (limit 30 s).
 * Throws an `EmbeddedPostgresError` whose message says what to do.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const startedAt = performance.now();
  const dataDir = resolve(options.dataDir);
  await makeDataDir(dataDir);
  const lock = await lockFolder(dataDir);
  try {
    const running = await serve(dataDir, options);
    const { pid, port } = running.server;
    const ms = Math.round(performance.now() - startedAt);
    options.log.info("postgres.start", { pid, port, adopted: running.adopted, durationMs: ms });
    const kept = keepRunning(running.server, {
      cluster: running.cluster.folder,
      start: running.restart,
      log: options.log,
    });
    const stop = once(async () => {
      await kept.release();
      await stopServer(running.cluster.folder, kept.server());
      lock.release();
      options.log.info("postgres.stop", { pid: kept.server().pid });
    });
    return { url: urlOf(running.cluster, port), adopted: running.adopted, stop };
  } catch (error) {
    lock.release();
    throw error;
  }
}

type Running = {
  cluster: Cluster;
  server: RunningServer;
  adopted: boolean;
  restart(port: number, signal: AbortSignal): Promise<RunningServer>;
};

async function serve(dataDir: string, options: EmbeddedOptions): Promise<Running> {
  const { signal = new AbortController().signal, durable = true } = options;
  signal.throwIfAborted();
  const binaries = await placeBinaries(dataDir);
  const cluster = await openCluster({ dataDir, binaries, durable });
  const plan = { binaries, cluster, logFile: join(dataDir, "postgres.log"), durable };
  const restart = async (port: number, until: AbortSignal): Promise<RunningServer> =>
    (await adopt(cluster, until)) ?? startServer({ ...plan, signal: until, port });
  const alive = await adopt(cluster, signal);
  if (alive) return { cluster, server: alive, adopted: true, restart };
  const server = await startServer({ ...plan, signal });
  await removeOlderBinaries(dataDir, binaries);
  return { cluster, server, adopted: false, restart };
}

/** The server that still runs this cluster, once it answers; undefined when there is none any more. */
async function adopt(cluster: Cluster, signal: AbortSignal): Promise<PostmasterFile | undefined> {
  const deadline = performance.now() + adoptLimitMs;
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    const file = await readPostmasterFile(cluster.folder);
    if (file === undefined) return undefined;
    if (!(await isPostmasterOf(cluster.folder, file.pid))) return forgetStale(cluster);
    if (file.status === "stopping") await endsWithin(cluster.folder, file.pid, 1_000);
    else if (file.status === "ready" && (await answers(cluster, file.port))) return file;
    await delay(20);
  }
  throw embeddedError("start_timeout", `A Postgres runs on ${cluster.folder} and does not answer.`);
}

// Postgres would refuse to start if the number now belongs to a process of the same user.
async function forgetStale(cluster: Cluster): Promise<undefined> {
  await rm(join(cluster.folder, "postmaster.pid"), { force: true });
}

async function answers(cluster: Cluster, port: number): Promise<boolean> {
  const sql = postgres(urlOf(cluster, port), {
    ...{ max: 1, connect_timeout: 3, onnotice: () => {} },
    // See postgres/client.ts.
    fetch_types: false,
  });
  try {
    const rows = await sql<{ data_directory: string }[]>`show data_directory`;
    return rows[0]?.data_directory === cluster.folder;
  } catch {
    // Not yet, or not ours: the caller asks again until its limit.
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const urlOf = (cluster: Cluster, port: number) =>
  `postgres://${superuser}:${cluster.password}@127.0.0.1:${port}/postgres`;

// Others may pass through a root's data folder, not list it: the user that runs Postgres is one of them.
async function makeDataDir(dataDir: string): Promise<void> {
  try {
    const made = await mkdir(dataDir, { recursive: true });
    if (made !== undefined) await chmod(dataDir, process.geteuid?.() === 0 ? 0o711 : 0o700);
  } catch (error) {
    throw failureFromSystem(error, dataDir);
  }
}

function once(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= action());
}
