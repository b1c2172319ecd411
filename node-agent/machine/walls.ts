import { spawnSync } from "node:child_process";
import { memorySampled, otherUsers, type WallLimit } from "#shared/api/walls.ts";
import type { Log } from "../log.ts";
import { programPath } from "../process/program-path.ts";
import { delegatedCgroup } from "./delegated-cgroup.ts";

/** What this machine can hold commands to, as the agent found it at its start. */
export type Walls = {
  /** The cgroup v2 folder in which each command gets a group. */
  cgroup: string | undefined;
  /** The limits that the kernel holds for a group there. */
  byKernel: readonly WallLimit[];
  /** What the node says of itself: the names of the limits that it holds, in whatever way. */
  enforces: string[];
};

/** What every machine has. */
export const noWalls: Walls = {
  cgroup: undefined,
  byKernel: [],
  enforces: ["memBytes", memorySampled],
};

/** Finds out, by trying. Throws StartRefused where the setting names no folder that could do. */
export const findWalls = (cgroup: string | undefined, log: Log): Walls => {
  const users = canBeOthers() ? [otherUsers] : [];
  if (cgroup === undefined) return { ...noWalls, enforces: [...noWalls.enforces, ...users] };
  const delegated = delegatedCgroup(cgroup);
  for (const trouble of delegated.troubles) log.warn("cgroup.limited", { path: delegated.path, trouble });
  const { path, byKernel } = delegated;
  const memory = byKernel.includes("memBytes") ? [] : noWalls.enforces;
  return { cgroup: path, byKernel, enforces: [...memory, ...byKernel, ...users] };
};

/** Root may be anybody, but not in every container, and `setpriv` is not everywhere the same: it is tried with nobody's ids. */
const canBeOthers = (): boolean => {
  if (process.getuid?.() !== 0) return false;
  const someone = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"];
  const tried = spawnSync(programPath("setpriv"), [...someone, "/bin/sh", "-c", ":"], { timeout: 5000 });
  return tried.status === 0;
};
