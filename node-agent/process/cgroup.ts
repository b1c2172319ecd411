import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Where a cgroup v2 folder is delegated to the agent (`DROVER_CGROUP`, set by the service unit), each command gets a group
 * in it. Nothing leaves a cgroup by forking, so the tree is complete whatever a command does, and the kernel ends it as
 * one. The leader joins by itself, just before it becomes the command; the wrapper stays outside, so that it lives to write
 * the ending.
 */
export const newCgroup = (delegated: string | undefined, id: string): string | null => {
  if (delegated === undefined) return null;
  const path = join(delegated, id);
  try {
    mkdirSync(path);
    return path;
  } catch {
    // Not ours to use after all: the other signs of the tree have to do.
    return null;
  }
};

/** The group of a command that an earlier agent started. */
export const knownCgroup = (delegated: string | undefined, id: string): string | null => {
  const path = delegated === undefined ? "" : join(delegated, id);
  return path !== "" && existsSync(path) ? path : null;
};

/** Shell text by which a process joins the group; the command goes on without it if that fails. */
export const joinCgroup = (path: string | null): string =>
  path === null ? "" : `{ echo 0 >${path}/cgroup.procs; } 2>/dev/null\n`;

export const cgroupPids = (path: string | null): number[] => {
  try {
    return path === null
      ? []
      : readFileSync(join(path, "cgroup.procs"), "latin1")
          .split("\n")
          .map(Number)
          .filter((pid) => pid > 0);
  } catch {
    // The group went with its last process.
    return [];
  }
};

export const killCgroup = (path: string | null): void => {
  try {
    if (path !== null) writeFileSync(join(path, "cgroup.kill"), "1");
  } catch {
    // A kernel before 5.14, or gone: the members are killed one by one.
  }
};

/** Removes the group of a command of which nothing is left. */
export const removeCgroup = (path: string | null): void => {
  try {
    if (path !== null) rmdirSync(path);
  } catch {
    // Somebody lives in it still, or it is gone.
  }
};
