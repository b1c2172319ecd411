import { createHash } from "node:crypto";
import { readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs";
import { isAlive, procEntry } from "../process/proc-table.ts";
import { bootId } from "./identity.ts";

/**
 * One agent a data folder.
 *
 * The lock is a symbolic link whose target is the claim `pid.startTicks.boot.folder`: it is made whole in one call that
 * fails where one is, and needs no free disk block. A claim is dead when no process of that pid was born at that tick
 * of this boot, or when it was made for another folder (a copy). A dead claim is replaced by rename, and only by the
 * one contender that holds the lock named after that claim: of many that start at once, one wins.
 */
export type Lock = { release(): void };

/** Takes the lock at `path`, or says which pid holds it; `folder` identifies the folder it is for. */
export function takeLock(path: string, folder: string): Lock | { heldBy: number } {
  const mine = [process.pid, procEntry(process.pid)?.startTicks ?? 0, bootId(), folder].join(".");
  const heldBy = claim(path, mine);
  return heldBy === undefined ? { release: () => release(path, mine) } : { heldBy };
}

function claim(path: string, mine: string): number | undefined {
  for (;;) {
    if (linked(mine, path)) return undefined;
    const theirs = claimAt(path);
    if (theirs === undefined) continue;
    const holder = livingHolder(theirs, mine);
    if (holder !== undefined) return holder;
    const guard = `${path}.${createHash("sha256").update(theirs).digest("hex").slice(0, 8)}`;
    const rival = claim(guard, mine);
    if (rival !== undefined) return rival;
    // The guard may be free because another contender has just replaced this claim: look again before replacing.
    if (claimAt(path) === theirs) {
      renameSync(guard, path);
      return undefined;
    }
    unlinkSync(guard);
  }
}

function linked(mine: string, path: string): boolean {
  try {
    symlinkSync(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function claimAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function livingHolder(theirs: string, mine: string): number | undefined {
  const [pid, ticks, ...place] = theirs.split(".");
  if (place.join(".") !== mine.split(".").slice(2).join(".")) return undefined;
  const holder = { pid: Number(pid), startTicks: Number(ticks) };
  return (holder.startTicks > 0 ? isAlive(holder) : answers(holder.pid)) ? holder.pid : undefined;
}

/** Without /proc a pid is all there is to go by. */
function answers(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function release(path: string, mine: string): void {
  if (claimAt(path) === mine) unlinkSync(path);
}
