// Postgres refuses to run as root. A root control plane therefore runs it
//  1. as the unprivileged user `postgres`, or `nobody`, where that user can reach the data folder;
//  2. else, behind a folder that only root may enter, as root under another id in a user namespace of its
//     own (`unshare -U`): root's rights on its files, no capability, and an id that Postgres accepts.
// A cluster that exists is run by its owner, so the choice is made once a cluster.

import { lstat, readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname } from "node:path";
import { execa } from "execa";
import { noBinary } from "./binaries.ts";
import { embeddedError, systemCode } from "./failure.ts";

export type RunAs = { kind: "self" } | { kind: "user"; uid: number; gid: number } | { kind: "namespace" };

type Launch = { file: string; args: string[]; options: { uid?: number; gid?: number } };

/** How to start `file` with `args` under that identity. */
export function launchAs(runAs: RunAs, file: string, args: string[]): Launch {
  if (runAs.kind === "self") return { file, args, options: {} };
  if (runAs.kind === "user") return { file, args, options: { uid: runAs.uid, gid: runAs.gid } };
  const mapped = ["--user", "--map-user=65534", "--map-group=65534", "--", file, ...args];
  return { file: "unshare", args: mapped, options: {} };
}

/** `initdb` insists on an id with an account; the server does not, so only its making needs another id. */
export const forInitdb = (runAs: RunAs): RunAs =>
  runAs.kind === "self" && !hasAccount() ? { kind: "namespace" } : runAs;

function hasAccount(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    // The system has no entry for this id, as in containers that run under an arbitrary one.
    return false;
  }
}

/** Nothing of the control plane's environment, which holds its secrets, reaches Postgres. */
export const postgresEnvironment = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" };

/** The identity of an existing cluster is its owner's. */
export async function ownerOf(cluster: string): Promise<RunAs> {
  const { uid, gid } = await lstat(cluster);
  const self = ownUid();
  if (self === 0) return uid === 0 ? { kind: "namespace" } : { kind: "user", uid, gid };
  if (self === undefined || self === uid) return { kind: "self" };
  throw embeddedError(
    "folder_unreachable",
    `The database folder ${cluster} belongs to another user (uid ${uid}).`,
  );
}

/** The identity for a new cluster: the first one under which `postgres` starts at all. */
export async function chooseIdentity(postgres: string): Promise<RunAs> {
  if (ownUid() !== 0) {
    await mustRun({ kind: "self" }, postgres);
    return { kind: "self" };
  }
  const candidates: RunAs[] = [...(await unprivilegedUser()), { kind: "namespace" }];
  for (const candidate of candidates) if (await canRun(candidate, postgres)) return candidate;
  throw await lockedOut(postgres);
}

const ownUid = (): number | undefined => process.geteuid?.();

async function unprivilegedUser(): Promise<RunAs[]> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  const found = ["postgres", "nobody"]
    .map((name) => lines.find((line) => line.startsWith(`${name}:`))?.split(":"))
    .find((fields) => fields !== undefined);
  const [uid, gid] = [Number(found?.[2]), Number(found?.[3])];
  return uid > 0 && gid > 0 ? [{ kind: "user", uid, gid }] : [];
}

const canRun = (runAs: RunAs, postgres: string): Promise<boolean> =>
  mustRun(runAs, postgres).then(
    () => true,
    (error: unknown) => {
      // The loader that the binary names is missing (musl): no identity would change that.
      if (runAs.kind === "user" && isCode(error, "no_binary")) throw error;
      return false;
    },
  );

async function mustRun(runAs: RunAs, postgres: string): Promise<void> {
  const { file, args, options } = launchAs(runAs, postgres, ["--version"]);
  const environment = { env: postgresEnvironment, extendEnv: false, cwd: "/" };
  const result = await execa(file, args, {
    ...options,
    ...environment,
    timeout: 10_000,
    reject: false,
    stdin: "ignore",
  });
  if (!result.failed) return;
  if (result.code === "ENOENT" && runAs.kind !== "namespace") throw noBinary(result);
  throw embeddedError("start_failed", `Postgres does not run here: ${result.shortMessage}`, result);
}

const isCode = (error: unknown, code: string) => systemCode(error) === code;

async function lockedOut(postgres: string): Promise<Error> {
  const folder = (await closedParent(postgres)) ?? dirname(postgres);
  return embeddedError(
    "folder_unreachable",
    `Postgres can not run as root, and an unprivileged user can not enter ${folder}. ` +
      `Allow it (chmod o+x ${folder}), choose another DROVER_DATA_DIR, or set DATABASE_URL.`,
  );
}

/** The outermost parent of `path` that others may not enter. */
async function closedParent(path: string): Promise<string | undefined> {
  const parent = dirname(path);
  if (parent === path) return undefined;
  const above = await closedParent(parent);
  if (above !== undefined) return above;
  const { mode } = await lstat(parent);
  return (mode & 0o001) === 0 ? parent : undefined;
}
