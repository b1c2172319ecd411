import { randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { Binaries } from "./binaries.ts";
import { failureFromLog, systemCode } from "./failure.ts";
import { chooseIdentity, forInitdb, launchAs, ownerOf, postgresEnvironment, type RunAs } from "./run-as.ts";

export const superuser = "drover";

export type Cluster = { folder: string; password: string; runAs: RunAs };

type ClusterPlace = { dataDir: string; binaries: Binaries; durable: boolean };

/** The cluster of this data folder, made if there is none; the caller holds the folder's lock. */
export async function openCluster(place: ClusterPlace): Promise<Cluster> {
  const folder = join(place.dataDir, "postgres");
  const passwordFile = join(place.dataDir, "postgres-password");
  if (await isCluster(folder))
    return { folder, runAs: await ownerOf(folder), password: (await readFile(passwordFile, "utf8")).trim() };
  const runAs = await chooseIdentity(place.binaries.postgres);
  const password = randomBytes(24).toString("base64url");
  // The password is kept before the cluster takes its name: a crash in between leaves no cluster without one.
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  await createCluster({ ...place, runAs, password, folder });
  return { folder, password, runAs };
}

const isCluster = (folder: string): Promise<boolean> =>
  lstat(join(folder, "PG_VERSION")).then(
    () => true,
    (error: unknown) => {
      // A folder that may not be read is not a missing one: never make a second cluster over it.
      if (systemCode(error) === "ENOENT") return false;
      throw error;
    },
  );

type NewCluster = ClusterPlace & Cluster;

/** `initdb` works under another name and the folder is renamed when whole: a crash leaves no half cluster. */
async function createCluster(cluster: NewCluster): Promise<void> {
  const unfinished = `${cluster.folder}.unfinished`;
  const passwordFile = `${cluster.folder}.initial-password`;
  await rm(unfinished, { recursive: true, force: true });
  try {
    await mkdir(unfinished, { mode: 0o700 });
    await writeFile(passwordFile, cluster.password, { mode: 0o600 });
    await handOver([unfinished, passwordFile], cluster.runAs);
    await initdb(cluster, unfinished, passwordFile);
    await rename(unfinished, cluster.folder);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function handOver(paths: string[], runAs: RunAs): Promise<void> {
  if (runAs.kind !== "user") return;
  for (const path of paths) await chown(path, runAs.uid, runAs.gid);
  // An earlier umask must not widen or narrow what the server insists on.
  for (const path of paths) await chmod(path, path.endsWith("password") ? 0o600 : 0o700);
}

async function initdb(cluster: NewCluster, target: string, passwordFile: string): Promise<void> {
  const { file, args, options } = launchAs(forInitdb(cluster.runAs), cluster.binaries.initdb, [
    `--pgdata=${target}`,
    `--username=${superuser}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--no-instructions",
    ...(cluster.durable ? [] : ["--no-sync"]),
  ]);
  const environment = { env: postgresEnvironment, extendEnv: false, cwd: "/" };
  const limits = { timeout: 60_000, reject: false, all: true, stdin: "ignore" } as const;
  const result = await execa(file, args, { ...options, ...environment, ...limits });
  if (result.failed) throw failureFromLog(result.all || result.shortMessage || "");
}
