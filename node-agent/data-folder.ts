import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { StartRefused } from "./config.ts";
import { reasonOf } from "./log.ts";
import { machineId } from "./machine/identity.ts";
import { takeLock } from "./machine/lock.ts";

/**
 * What an agent keeps, 0700:
 *   identity.json  the node's key and name (see identity.ts)
 *   generation     how often an agent started here; it makes revisions grow over restarts
 *   agent.lock     which agent is at work (see machine/lock.ts)
 *   policy.json    what may be started here, written by whoever owns the machine (see policy-file.ts)
 *   procs/         a folder a process, the engine's
 */
export type DataFolder = {
  path: string;
  procs: string;
  policy: string;
  generation: number;
  /** Tells this folder from a copy of it, here or on another machine. */
  machineId: string;
  close(): void;
};

/** Makes the folder where it is missing, locks it and counts this start; throws StartRefused where that cannot be. */
export function openDataFolder(path: string): DataFolder {
  try {
    return openChecked(path);
  } catch (error) {
    throw error instanceof StartRefused
      ? error
      : new StartRefused(`the data folder ${path} cannot be used: ${trouble(error)}`);
  }
}

function openChecked(path: string): DataFolder {
  makeFolder(path);
  chmodSync(path, 0o700);
  const inode = String(statSync(path).ino);
  const lock = takeLock(join(path, "agent.lock"), inode);
  if ("heldBy" in lock)
    throw new StartRefused(`the data folder ${path} is used by another agent (pid ${lock.heldBy})`);
  try {
    const procs = join(path, "procs");
    makeFolder(procs);
    return {
      path,
      procs,
      policy: join(path, "policy.json"),
      machineId: machineId(path),
      generation: nextGeneration(join(path, "generation")),
      close: () => lock.release(),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Step by step: where a folder's maker says that its parent is missing and it is not (/proc), mkdir's `recursive` never ends. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

const width = 16;

/** Raises the number in place, in a file of fixed length: a disk that is full must not keep an agent from its processes. */
function nextGeneration(file: string): number {
  const fd = openGeneration(file);
  try {
    const text = Buffer.alloc(width);
    readSync(fd, text, 0, width, 0);
    const next = (Number.parseInt(text.toString("latin1"), 10) || 0) + 1;
    writeSync(fd, String(next).padStart(width - 1) + "\n", 0, "latin1");
    return next;
  } finally {
    closeSync(fd);
  }
}

function openGeneration(file: string): number {
  try {
    return openSync(file, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return openSync(file, "wx+", 0o600);
  }
}

const troubles: Record<string, string> = {
  ENOSPC: "its disk is full",
  EDQUOT: "its disk quota is used up",
  EROFS: "it is on a read-only file system",
  EACCES: "permission denied (run as its owner, or choose another --data-dir)",
  EPERM: "permission denied (run as its owner, or choose another --data-dir)",
  ENOTDIR: "it is not a folder",
  EEXIST: "it is not a folder",
  EIO: "its disk fails to read or write",
};

/** A file error in words; the system's own where there are no better ones. */
export const trouble = (error: unknown): string =>
  troubles[(error as NodeJS.ErrnoException).code ?? ""] ?? reasonOf(error);
