// One control plane a data folder. The lock is a write lock that SQLite holds on an otherwise empty file:
// the kernel takes it back the moment its owner dies, however it dies, so no lock is ever stale, two
// starters can not both win, and no process id is trusted. The id in the file beside it only names the owner.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { embeddedError } from "./failure.ts";

const sqliteBusy = 5;

export type FolderLock = { release(): void };

/** Takes the folder for this process, or throws `already_running` with the id of the process that has it. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const ownerFile = join(folder, "postgres.owner");
  const held = holdWriteLock(join(folder, "postgres.lock"));
  if (held === "taken") throw await alreadyRunning(folder, ownerFile);
  await writeFile(ownerFile, `${process.pid}\n`, { mode: 0o600 });
  return { release: () => held.close() };
}

function holdWriteLock(path: string): DatabaseSync | "taken" {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("BEGIN IMMEDIATE");
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) return "taken";
    throw error;
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && error.errcode === sqliteBusy;

async function alreadyRunning(folder: string, ownerFile: string): Promise<Error> {
  // The owner writes its id right after it has the lock; a reader in between only misses the number.
  const owner = await readFile(ownerFile, "utf8").catch(() => "");
  const by = owner.trim() === "" ? "" : ` (process ${owner.trim()})`;
  return embeddedError(
    "already_running",
    `Another control plane${by} already uses the data folder ${folder}.`,
  );
}
