import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { WallLimit } from "#shared/api/walls.ts";
import { StartRefused } from "../config.ts";
import { reasonOf } from "../log.ts";

/**
 * The cgroup v2 folder that is the agent's to use, made ready: the agent moves out of it where it sits in it itself (a group
 * that hands controllers on holds no processes), the controllers are handed on, and then a group is made in it and joined,
 * since no file says whether that works. What does not work is said and does without; only a folder that is no cgroup at all
 * is a wrong setting.
 */
export type Delegated = {
  /** Undefined where no command could join a group in it. */
  path: string | undefined;
  byKernel: WallLimit[];
  /** What a person may want to mend, a sentence each. */
  troubles: string[];
};

/** Where the agent and its wrappers are while commands are in groups beside it. */
const agentLeaf = "agent";
const controllers: [limit: WallLimit, controller: string, files: string[]][] = [
  ["memBytes", "memory", ["memory.max", "memory.oom.group"]],
  ["cpuPct", "cpu", ["cpu.max"]],
  ["pids", "pids", ["pids.max"]],
];

/** `setting` is a path, or `own`: the group that the agent was started in, as a service manager delegates it. */
export const delegatedCgroup = (setting: string): Delegated => {
  const path = setting === "own" ? ownGroup() : setting;
  if (!existsSync(join(path, "cgroup.subtree_control")))
    throw new StartRefused(`DROVER_CGROUP: ${path} is not a cgroup v2 folder`);
  const troubles: string[] = [];
  const tried = (what: string, work: () => void): boolean => {
    try {
      work();
      return true;
    } catch (error) {
      troubles.push(`${what}: ${reasonOf(error)}`);
      return false;
    }
  };
  tried("the agent cannot move into a group of its own", () => moveOut(path));
  for (const [limit, controller] of controllers)
    tried(`limits.${limit} is not held`, () => handOn(path, controller));
  const byKernel: WallLimit[] = [];
  const usable = tried("commands get no groups", () => byKernel.push(...tryOut(path)));
  return { path: usable ? path : undefined, byKernel, troubles };
};

const ownGroup = (): string => {
  const mount = readFileSync("/proc/self/mounts", "latin1")
    .split("\n")
    .map((line) => line.split(" "))
    .find(([, , type]) => type === "cgroup2")?.[1];
  if (mount === undefined) throw new StartRefused("DROVER_CGROUP: no cgroup v2 is mounted here");
  const group = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "latin1"))?.[1] ?? "/";
  const path = join(mount, group);
  // An agent before this one may have moved, or the service manager has put us there.
  return basename(path) === agentLeaf ? dirname(path) : path;
};

const moveOut = (path: string): void => {
  const inside = readFileSync(join(path, "cgroup.procs"), "latin1").split("\n").filter(Boolean);
  // The root of all groups may hold processes, and they are not ours to move.
  const isRoot = !existsSync(join(path, "cgroup.type"));
  if (isRoot || !inside.includes(String(process.pid))) return;
  const leaf = join(path, agentLeaf);
  mkdirSync(leaf, { recursive: true });
  // Whoever started us in it (a shell of the service) has to go along.
  for (const pid of inside) writeFileSync(join(leaf, "cgroup.procs"), pid);
};

const handOn = (path: string, controller: string): void => {
  const listed = (file: string) => readFileSync(join(path, file), "latin1").trim().split(" ");
  if (listed("cgroup.subtree_control").includes(controller)) return;
  if (!listed("cgroup.controllers").includes(controller))
    throw new Error(`the controller ${controller} is not delegated to ${path}`);
  writeFileSync(join(path, "cgroup.subtree_control"), `+${controller}`);
};

/** The limits that a group in the folder has, once a process could join it. */
const tryOut = (path: string): WallLimit[] => {
  const probe = join(path, `probe-${process.pid}`);
  mkdirSync(probe, { recursive: true });
  try {
    const joined = spawnSync("/bin/sh", ["-c", 'echo 0 >"$1/cgroup.procs"', "sh", probe], {
      timeout: 5000,
      encoding: "utf8",
    });
    if (joined.status !== 0) throw new Error(`a process cannot join ${probe}: ${joined.stderr}`.trim());
    return controllers
      .filter(([, , files]) => files.every((file) => existsSync(join(probe, file))))
      .map(([limit]) => limit);
  } finally {
    rmdirSync(probe);
  }
};
