import { spawn, type ChildProcess } from "node:child_process";
import { open, readFile, rename, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Binaries } from "./binaries.ts";
import type { Cluster } from "./cluster.ts";
import { embeddedError, failureFromLog, failureFromSystem, systemCode } from "./failure.ts";
import { isPostmasterOf, readPostmasterFile, type PostmasterFile } from "./postmaster.ts";
import { launchAs, postgresEnvironment } from "./run-as.ts";

const pollMs = 10;
const startLimitMs = 30_000;
const fastStopLimitMs = 10_000;
const immediateStopLimitMs = 5_000;

export type ServerPlan = {
  binaries: Binaries;
  cluster: Cluster;
  logFile: string;
  durable: boolean;
  signal: AbortSignal;
  /** Undefined: any free one. */
  port?: number;
};

/** `reaped`: its end as our child; an adopted server has another parent. */
export type RunningServer = PostmasterFile & { reaped?: () => Promise<void> };

/** Starts the server of a cluster that has none and resolves when it accepts connections. */
export async function startServer(plan: ServerPlan): Promise<RunningServer> {
  const limit = AbortSignal.timeout(startLimitMs);
  const signal = AbortSignal.any([plan.signal, limit]);
  for (;;) {
    const started = await attempt(plan, signal);
    if (started !== "again") return started;
    await delay(100);
  }
}

/** One try; "again" for what passes by itself: a port taken since, or the last backends of a killed server. */
async function attempt(plan: ServerPlan, signal: AbortSignal): Promise<RunningServer | "again"> {
  const child = await spawnServer(plan, plan.port ?? (await freePort()));
  const ended = endingOf(child);
  const ready = await readyOrEnded(plan.cluster.folder, ended, signal);
  if (ready === "ended") {
    const log = await lastLines(plan.logFile);
    if (passesByItself.test(log) && !signal.aborted) return "again";
    if (ended.error) throw failureFromSystem(ended.error, plan.cluster.folder);
    throw failureFromLog(log);
  }
  if (ready === "aborted") {
    child.kill("SIGQUIT");
    await endsWithin(plan.cluster.folder, ended.pid, immediateStopLimitMs);
    throw await notStarted(plan);
  }
  return { ...ready, reaped: ended.reaped };
}

const passesByItself =
  /could not bind|Address already in use|pre-existing shared memory block .* is still in use/;

async function notStarted(plan: ServerPlan): Promise<Error> {
  plan.signal.throwIfAborted();
  const log = await lastLines(plan.logFile);
  return embeddedError(
    "start_timeout",
    `The embedded Postgres was not ready after ${startLimitMs / 1000} s.\n${log}`,
  );
}

async function spawnServer(plan: ServerPlan, port: number): Promise<ChildProcess> {
  const { cluster, binaries } = plan;
  const settings = Object.entries(serverSettings(port, plan.durable));
  const wanted = ["-D", cluster.folder, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  const { file, args, options } = launchAs(cluster.runAs, binaries.postgres, wanted);
  const log = await newLogFile(plan.logFile);
  try {
    // A session of its own: Ctrl-C on the terminal is for the control plane, which stops the server in order.
    const child = spawn(file, args, {
      ...options,
      cwd: "/",
      env: postgresEnvironment,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

/** Small and quick to start; durable means that an acknowledged commit survives a power cut. */
const serverSettings = (port: number, durable: boolean) => ({
  listen_addresses: "127.0.0.1",
  port,
  unix_socket_directories: "",
  max_connections: 60,
  shared_buffers: "32MB",
  max_wal_size: "256MB",
  wal_level: "minimal",
  max_wal_senders: 0,
  max_logical_replication_workers: 0,
  max_parallel_workers_per_gather: 0,
  io_method: "sync",
  fsync: durable ? "on" : "off",
  synchronous_commit: "on",
  full_page_writes: durable ? "on" : "off",
  autovacuum: "on",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
  // Failed statements reach their caller; their text holds what users typed and stays out of the log.
  log_min_messages: "log",
  log_min_error_statement: "panic",
});

// One older log is kept: it tells how the last server ended.
async function newLogFile(path: string) {
  await rename(path, `${path}.1`).catch(() => rm(path, { force: true }));
  return open(path, "w", 0o600);
}

type Ending = { pid: number; done: boolean; error: Error | undefined; reaped: () => Promise<void> };

function endingOf(child: ChildProcess): Ending {
  const { promise, resolve } = Promise.withResolvers<void>();
  const reaped = () => {
    // Nothing else may keep this process alive while it waits for its child.
    if (!ending.done) child.ref();
    return promise;
  };
  const ending: Ending = { pid: child.pid ?? 0, done: false, error: undefined, reaped };
  const note = (error?: Error) => {
    Object.assign(ending, { done: true, error });
    resolve();
  };
  child.once("exit", () => note());
  child.once("error", note);
  return ending;
}

async function readyOrEnded(
  cluster: string,
  ended: Ending,
  signal: AbortSignal,
): Promise<PostmasterFile | "ended" | "aborted"> {
  while (!ended.done) {
    if (signal.aborted) return "aborted";
    const file = await readPostmasterFile(cluster);
    // The file of a killed predecessor may still say "ready".
    if (file?.pid === ended.pid && file.status === "ready") return file;
    await delay(pollMs);
  }
  return "ended";
}

async function lastLines(logFile: string): Promise<string> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  return text.slice(-4_000).trimEnd().split("\n").slice(-12).join("\n");
}

/** Stops the server: fast shutdown, after 10 s the immediate one; throws if it lives on. */
export async function stopServer(cluster: string, { pid, reaped }: RunningServer): Promise<void> {
  if (!(await isPostmasterOf(cluster, pid))) return reaped?.();
  send(pid, "SIGINT");
  if (await endsWithin(cluster, pid, fastStopLimitMs)) return reaped?.();
  send(pid, "SIGQUIT");
  if (await endsWithin(cluster, pid, immediateStopLimitMs)) return reaped?.();
  throw embeddedError("start_failed", `The embedded Postgres (process ${pid}) did not stop.`);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It went between the look and the signal, which is what the signal is for.
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

/** Resolves true when the server is gone, false when the limit passed first. */
export async function endsWithin(cluster: string, pid: number, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (await isPostmasterOf(cluster, pid)) {
    if (performance.now() > deadline) return false;
    await delay(pollMs);
  }
  return true;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
