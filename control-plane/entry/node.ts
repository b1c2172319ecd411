// The control plane on Node. It comes up in this order, and goes down the other way round: database and its schema →
// secrets → needs, link and app → HTTP server → scheduler. The only place that knows this runtime.

import { hash, randomBytes } from "node:crypto";
import type { Server } from "node:http";
import { hostname } from "node:os";
import { createApp } from "../app.ts";
import { newSecret } from "../actions/make-join-token.ts";
import { sha256Hex } from "#shared/secret-text.ts";
import { createMemoryBus } from "../bus/memory.ts";
import { openCluster, type Cluster } from "../cluster/cluster.ts";
import { OtherKeyError } from "../cluster/same-key.ts";
import { dispatchFor } from "../link/dispatch.ts";
import { openLink, type Link } from "../link/link.ts";
import type { Config, Needs } from "../needs.ts";
import type { HandOut } from "../store/store.ts";
import { startFanoutDriver } from "../scheduler/fanout-driver.ts";
import { startTicker } from "../scheduler/ticker.ts";
import { queueGauge } from "../queue-gauge.ts";
import { sealWith } from "../seal.ts";
import { acceptAgents } from "./agent-upgrade.ts";
import { openDatabase, type Database } from "./database.ts";
import { httpServer, listen, stopServer, urlOf } from "./listen.ts";
import { createLog, type MaskingLog } from "./log.ts";
import { keptSecret } from "./secret-file.ts";
import { SettingError, keyBytes, type Settings } from "./settings.ts";
import { version } from "./version.ts";

export { settingsFromEnv, SettingError, type Settings } from "./settings.ts";

export type ControlPlane = {
  url: string;
  port: number;
  /** Ends everything in order; at most about 10 s of its own, then the database. */
  close(): Promise<void>;
};

const retentionMs = 30 * 24 * 3600 * 1000;
const openRequestsMs = 2000;

/** Starts a control plane; resolves when it answers. A wrong setting, a port in use or an unreachable database is a readable error. */
export const startControlPlane = async (
  settings: Settings,
  write: (line: string) => void = writeToStderr,
): Promise<ControlPlane> => {
  const log = createLog(settings.log, write);
  const database = await openDatabase(settings, log);
  try {
    return await startOn(database, settings, log);
  } catch (error) {
    await database.close();
    throw error;
  }
};

const writeToStderr = (line: string): void => void process.stderr.write(line);

const startOn = async (database: Database, settings: Settings, log: MaskingLog): Promise<ControlPlane> => {
  const config = await configOf(settings, log);
  const { link, needs, cluster } = await needsOf(database, { settings, config, log });
  const closing = new AbortController();
  const app = createApp(needs, closing.signal);
  const server = httpServer((request, env) => app.fetch(request, env));
  const agents = acceptAgents(server, link, log);
  // Nobody else uses Drover's own database: sessions and claims that a crash left open end now.
  const alone = settings.databaseUrl === undefined;
  const dispatch = (nodeId: string, given?: HandOut) => dispatchFor(needs, nodeId, given);
  const port = await cluster
    .serve(link, { alone, dispatch })
    .then(() => listen(server, settings))
    .catch(async (error: unknown) => {
      await cluster.close();
      throw error instanceof OtherKeyError ? new SettingError(error.message, { cause: error }) : error;
    });
  const url = urlOf(settings.host, port);
  if (config.publicUrl === "") config.publicUrl = url;
  const ticker = startTicker(needs);
  const fanouts = startFanoutDriver(needs);
  log.info("control_plane.started", { url, version, pid: process.pid });
  const close = (): Promise<void> =>
    closeAll({ closing, server, link, cluster, agents, ticker, fanouts, database, log });
  return { url, port, close: once(close) };
};

const configOf = async (settings: Settings, log: MaskingLog): Promise<Config> => {
  const adminToken = settings.adminToken ?? (await madeToken(settings.dataDir, log));
  log.hide(adminToken);
  return {
    adminTokenHash: await sha256Hex(adminToken),
    publicUrl: settings.publicUrl ?? "",
    version,
    retentionMs,
    nodeGoneMs: settings.nodeGoneMs,
  };
};

const madeToken = async (dataDir: string, log: MaskingLog): Promise<string> => {
  const { secret, path, made } = await keptSecret(dataDir, "admin-token", () => newSecret("drva"));
  if (made) log.info("admin_token.made", { path });
  return secret;
};

const secretKeyOf = async (settings: Settings): Promise<Uint8Array<ArrayBuffer>> => {
  if (settings.secretKey !== undefined) return settings.secretKey;
  const { secret, path } = await keptSecret(settings.dataDir, "secret-key", () =>
    randomBytes(32).toString("base64"),
  );
  return keyBytes(secret, path);
};

type Known = { settings: Settings; config: Config; log: MaskingLog };

const needsOf = async (
  database: Database,
  { settings, config, log }: Known,
): Promise<{ link: Link; needs: Needs; cluster: Cluster }> => {
  const { store } = database;
  const local = createMemoryBus((fault) => log.error("bus.look_failed", { error: fault }));
  const seal = await sealWith(await secretKeyOf(settings));
  const place = `${hostname()}:${process.pid}`;
  const cluster = openCluster({ store, local, log, seal, place, version });
  const { bus, self: instance } = cluster;
  const queue = queueGauge(store.processes, settings.maxQueued);
  const rest = { store, bus, seal, queue, config, log, instance, now: cluster.now };
  const link = openLink(rest, {
    elsewhere: cluster.elsewhere,
    sha256Hex: (text) => hash("sha256", text, "hex"),
  });
  return { link, needs: { ...rest, hub: link.hub }, cluster };
};

type Running = {
  closing: AbortController;
  server: Server;
  link: Link;
  cluster: Cluster;
  agents: { close(): void };
  ticker: { stop(): Promise<void> };
  fanouts: { stop(): Promise<void> };
  database: Database;
  log: MaskingLog;
};

const closeAll = async (running: Running): Promise<void> => {
  const { closing, server, link, cluster, agents, ticker, fanouts, database, log } = running;
  closing.abort();
  // Agents are told to come back later while open requests end; the database goes last, when nobody needs it.
  await Promise.all([stopServer(server, openRequestsMs), link.close(), ticker.stop(), fanouts.stop()]);
  agents.close();
  await cluster.close();
  await database.close();
  log.info("control_plane.stopped");
};

const once = (work: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
};
