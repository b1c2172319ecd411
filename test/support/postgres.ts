import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { databaseAt } from "../../control-plane/entry/database-socket.ts";
import { startEmbeddedPostgres } from "../../control-plane/store/embedded/start.ts";
import { migrate } from "../../control-plane/store/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Connects to the run's server; its database `drover_template` is migrated and empty. */
    postgresUrl: string;
  }
}

const templateName = "drover_template";
const folderPrefix = "drover-postgres-";

export type TemporaryPostgres = {
  url: string;
  /** A new migrated database of its own. */
  database(): Promise<TestDatabase>;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
};

export type TestDatabase = { url: string; drop(): Promise<void> };

/** A server for one run; `durable` keeps the safety of production (for measurements), else speed wins. */
export async function temporaryPostgres({ durable = false } = {}): Promise<TemporaryPostgres> {
  removeAbandoned();
  const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`));
  // As root the server runs as another user, who must pass through.
  await chmod(folder, 0o711);
  const remove = removeAtExit(folder);
  const stopped = async () => {
    await rm(folder, { recursive: true, force: true });
    remove.forget();
  };
  try {
    const server = await startEmbeddedPostgres({ dataDir: folder, log: { info: () => {} }, durable });
    await makeTemplate(server.url);
    return {
      url: server.url,
      database: () => databaseFromTemplate(server.url),
      stop: () => server.stop().then(stopped),
    };
  } catch (error) {
    remove.now();
    throw error;
  }
}

/** A fresh migrated database on the run's server, for one test file or test. */
export async function testDatabase(): Promise<TestDatabase> {
  const { inject } = await import("vitest");
  return databaseFromTemplate(inject("postgresUrl"));
}

/** The same server, another database. */
export function urlOfDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function makeTemplate(serverUrl: string): Promise<void> {
  await asAdmin(serverUrl, `create database ${templateName}`);
  await migrate(databaseAt(urlOfDatabase(serverUrl, templateName)));
}

async function databaseFromTemplate(serverUrl: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await asAdmin(serverUrl, `create database ${name} template ${templateName}`);
  const drop = () => asAdmin(serverUrl, `drop database if exists ${name} with (force)`);
  return { url: urlOfDatabase(serverUrl, name), drop };
}

async function asAdmin(serverUrl: string, statement: string): Promise<void> {
  const sql = postgres(serverUrl, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** What runs that were killed outright left behind; the name of a folder tells whose it is. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = name.startsWith(folderPrefix) ? Number(name.slice(folderPrefix.length).split("-")[0]) : NaN;
    if (owner > 1 && !isRunning(owner)) removeRun(join(tmpdir(), name));
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** A run that is ended early leaves no server and no folder either. */
function removeAtExit(folder: string) {
  const now = () => removeRun(folder);
  process.once("exit", now);
  return { now, forget: () => process.off("exit", now) };
}

function removeRun(folder: string): void {
  endServer(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

function endServer(folder: string): void {
  try {
    const pid = Number(readFileSync(join(folder, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
    if (pid > 1) process.kill(pid, "SIGQUIT");
  } catch {
    // No such file or no such process: there is nothing to end.
  }
}
