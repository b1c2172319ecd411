import { spawnSync } from "node:child_process";
import { memorySampled, otherUsers, sandboxes, type WallLimit } from "#shared/api/walls.ts";
import type { Log } from "../log.ts";
import { programPath } from "../process/program-path.ts";
import { delegatedCgroup } from "./delegated-cgroup.ts";

/** What this machine can hold commands to, as the agent found it at its start. */
export type Walls = {
  /** The cgroup v2 folder in which each command gets a group. */
  cgroup: string | undefined;
  /** The limits that the kernel holds for a group there. */
  byKernel: readonly WallLimit[];
  /** Where bubblewrap is, if it works here. */
  sandbox: string | undefined;
  /** What the node says of itself: the names of the limits that it holds, in whatever way. */
  enforces: string[];
};

/** What every machine has. */
export const noWalls: Walls = {
  cgroup: undefined,
  byKernel: [],
  sandbox: undefined,
  enforces: ["memBytes", memorySampled],
};

/** Finds out, by trying. Throws StartRefused where the setting names no folder that could do. */
export const findWalls = (cgroup: string | undefined, log: Log): Walls => {
  const sandbox = bubblewrap();
  const others = [...(canBeOthers() ? [otherUsers] : []), ...(sandbox ? [sandboxes] : [])];
  if (cgroup === undefined) return { ...noWalls, sandbox, enforces: [...noWalls.enforces, ...others] };
  const delegated = delegatedCgroup(cgroup);
  for (const trouble of delegated.troubles) log.warn("cgroup.limited", { path: delegated.path, trouble });
  const { path, byKernel } = delegated;
  const memory = byKernel.includes("memBytes") ? [] : noWalls.enforces;
  return { cgroup: path, byKernel, sandbox, enforces: [...memory, ...byKernel, ...others] };
};

/** Root may be anybody, but not in every container, and `setpriv` is not everywhere the same: it is tried with nobody's ids. */
const canBeOthers = (): boolean => {
  if (process.getuid?.() !== 0) return false;
  const someone = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"];
  const tried = spawnSync(programPath("setpriv"), [...someone, "/bin/sh", "-c", ":"], { timeout: 5000 });
  return tried.status === 0;
};

/** It may be there and not work: not every kernel lets everybody make namespaces. */
const bubblewrap = (): string | undefined => {
  const program = programPath("bwrap");
  if (program === "bwrap") return undefined;
  const trial = ["--ro-bind", "/", "/", "--bind", "/proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];
  const tried = spawnSync(program, [...trial, "/bin/sh", "-c", ":"], { timeout: 5000 });
  return tried.status === 0 ? program : undefined;
};
