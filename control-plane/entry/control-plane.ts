import type { Log } from "../needs.ts";
// A control plane on any runtime that lives on. It comes up in this order, and goes down the other way round: database and
// its schema → secrets → needs, link and app → membership, then the door for requests and agents → scheduler. What a runtime
// does in its own way is the door.

import { createApp } from "../app.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { OtherKeyError } from "../cluster/same-key.ts";
import { dispatchFor } from "../link/dispatch.ts";
import type { Link } from "../link/link.ts";
import { startFanoutDriver } from "../scheduler/fanout-driver.ts";
import { startTicker } from "../scheduler/ticker.ts";
import type { HandOut } from "../store/store.ts";
import { openDatabase, type Database } from "./database.ts";
import type { Door, OpenDoor } from "./door.ts";
import { createLog } from "./log.ts";
import { configOf, needsOf } from "./needs.ts";
import { SettingError, type Settings } from "./settings.ts";
import { version } from "./version.ts";

export type ControlPlane = {
  url: string;
  port: number;
  /** Ends everything in order; at most about 10 s of its own, then the database. */
  close(): Promise<void>;
};

export type Runtime = {
  openDoor: OpenDoor;
  /** Tells people where this process is, among the others on its database. */
  place: string;
};

const openRequestsMs = 2000;

/** Starts a control plane; resolves when it answers. A wrong setting, a port in use or an unreachable database is a readable error. */
export const startOn = async (
  runtime: Runtime,
  settings: Settings,
  write: (line: string) => void = writeToStderr,
): Promise<ControlPlane> => {
  const log = createLog(settings.log, write);
  const database = await openDatabase(settings, log);
  try {
    return await startWith(database, { runtime, settings, log });
  } catch (error) {
    await database.close();
    throw error;
  }
};

const writeToStderr = (line: string): void => void process.stderr.write(line);

type Given = { runtime: Runtime; settings: Settings; log: Log };

const startWith = async (database: Database, { runtime, settings, log }: Given): Promise<ControlPlane> => {
  const config = await configOf(settings, log);
  const { store } = database;
  const { link, needs, cluster } = await needsOf({ store, settings, config, log, place: runtime.place });
  const closing = new AbortController();
  const { fetch } = createApp(needs, closing.signal);
  // Nobody else uses Drover's own database: sessions and claims that a crash left open end now.
  const alone = settings.databaseUrl === undefined;
  const dispatch = (nodeId: string, given?: HandOut) => dispatchFor(needs, nodeId, given);
  const door = await cluster
    .serve(link, { alone, dispatch })
    .then(() => runtime.openDoor({ fetch, link, log }, settings))
    .catch(async (error: unknown) => {
      await cluster.close();
      throw error instanceof OtherKeyError ? new SettingError(error.message, { cause: error }) : error;
    });
  const url = urlOf(settings.host, door.port);
  if (config.publicUrl === "") config.publicUrl = url;
  const ticker = startTicker(needs);
  const fanouts = startFanoutDriver(needs);
  log.info("control_plane.started", { url, version, pid: process.pid });
  const close = (): Promise<void> =>
    closeAll({ closing, door, link, cluster, ticker, fanouts, database, log });
  return { url, port: door.port, close: once(close) };
};

/** Where a server on this host can be reached from this machine. */
const urlOf = (host: string, port: number): string => {
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
};

type Running = {
  closing: AbortController;
  door: Door;
  link: Link;
  cluster: Cluster;
  ticker: { stop(): Promise<void> };
  fanouts: { stop(): Promise<void> };
  database: Database;
  log: Log;
};

const closeAll = async (running: Running): Promise<void> => {
  const { closing, door, link, cluster, ticker, fanouts, database, log } = running;
  closing.abort();
  // Agents are told to come back later while open requests end; the database goes last, when nobody needs it.
  await Promise.all([door.close(openRequestsMs), link.close(), ticker.stop(), fanouts.stop()]);
  await cluster.close();
  await database.close();
  log.info("control_plane.stopped");
};

const once = (work: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
};
