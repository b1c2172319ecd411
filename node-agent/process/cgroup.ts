import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { shellQuote } from "#shared/shell-quote.ts";
import type { WallLimit } from "#shared/api/walls.ts";
import type { Launch } from "#shared/link/launch.ts";
import { failed } from "./ending.ts";
import { isProcessId } from "./folder.ts";

/**
 * Where a cgroup v2 folder is delegated to the agent (machine/walls.ts finds out), each command gets a group in it, which
 * has the limits of its start. Nothing leaves a cgroup by forking, so the tree is complete whatever a command does, and the
 * kernel ends it as one. The leader joins by itself, just before it becomes the command; the wrapper stays outside, so that
 * it lives to write the ending.
 */
export type GroupLimits = Pick<Launch, WallLimit>;

/** Which group a command will have; null where nothing is delegated. */
export const cgroupOf = (delegated: string | undefined, id: string): string | null =>
  delegated === undefined ? null : join(delegated, id);

/**
 * Makes the group, with those of the limits that the kernel `holds` here. Null where it is not to be had: the other signs of
 * the tree have to do. Throws instead where a limit would then not be held.
 */
export const newCgroup = (
  path: string | null,
  limits: GroupLimits,
  holds: readonly WallLimit[],
): string | null => {
  if (path === null) return null;
  const settings = holds.flatMap((name) => settingsOf(name, limits[name]));
  try {
    mkdirSync(path);
  } catch (error) {
    if (settings.length > 0) throw error;
    // Not ours to use after all.
    return null;
  }
  try {
    for (const [file, value] of settings)
      // Not every kernel counts swap.
      if (file !== swapFile || existsSync(join(path, file))) writeFileSync(join(path, file), value);
    return path;
  } catch (error) {
    removeCgroup(path);
    throw error;
  }
};

const swapFile = "memory.swap.max";
const cpuPeriodUs = 100_000;

const settingsOf = (name: WallLimit, value: number | null): [file: string, value: string][] => {
  if (value === null) return [];
  if (name === "cpuPct") return [["cpu.max", `${value * (cpuPeriodUs / 100)} ${cpuPeriodUs}`]];
  if (name === "pids") return [["pids.max", String(value)]];
  // The whole group dies with the one that asked for too much: half a command is of no use to anybody.
  return [
    ["memory.max", String(value)],
    ["memory.oom.group", "1"],
    // What does not fit is ended and not swapped out.
    [swapFile, "0"],
  ];
};

/** The group of a command that an earlier agent started. */
export const knownCgroup = (path: string | null): string | null =>
  path !== null && existsSync(path) ? path : null;

/** Whether the kernel bounds the memory of this group, so that nobody has to look. */
export const boundsMemory = (path: string | null): boolean => {
  const bound = path === null ? undefined : read(path, "memory.max");
  return bound !== undefined && bound.trim() !== "max";
};

/** Whether the kernel ended somebody in this group because its memory was up. */
export const ranOutOfMemory = (path: string | null): boolean =>
  path !== null && /^oom_kill [1-9]/m.test(read(path, "memory.events") ?? "");

/** Shell text by which a process joins the group; where `mustJoin`, one that cannot ends here and says so in the record. */
export const joinCgroup = (id: string, path: string | null, mustJoin: boolean): string => {
  if (path === null) return "";
  const join = `{ echo 0 >${shellQuote(`${path}/cgroup.procs`)}; } 2>/dev/null`;
  return mustJoin
    ? `${join} || { echo ${shellQuote(`${id} final ${unjoined}`)} >&3; exit 1; }\n`
    : `${join}\n`;
};

const unjoined = JSON.stringify(
  failed("spawn_error", "the command could not join the cgroup that was to hold its limits"),
);

export const cgroupPids = (path: string | null): number[] =>
  path === null
    ? []
    : withSubgroups(path).flatMap((group) =>
        (read(group, "cgroup.procs") ?? "")
          .split("\n")
          .map(Number)
          .filter((pid) => pid > 0),
      );

/** A command may have made groups in its own, and they may hold some of it; the deepest come last. */
const withSubgroups = (path: string): string[] => {
  try {
    // A folder has a link for itself, its name and each folder in it: most groups need not be listed.
    if (statSync(path).nlink <= 2) return [path];
    const inside = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [path, ...inside.flatMap(({ name }) => withSubgroups(join(path, name)))];
  } catch {
    // The group went with its last process.
    return [];
  }
};

const read = (path: string, file: string): string | undefined => {
  try {
    return readFileSync(join(path, file), "latin1");
  } catch {
    // The group is gone, or the kernel does not count this here.
    return undefined;
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
    if (path !== null) for (const group of withSubgroups(path).toReversed()) rmdirSync(group);
  } catch {
    // Somebody lives in it still, or it is gone.
  }
};

/** Removes the groups in which nobody is and that nobody needs: those of an agent that died before it could. */
export const sweepCgroups = (delegated: string | undefined, isNeeded: (id: string) => boolean): void => {
  if (delegated === undefined || !existsSync(delegated)) return;
  for (const id of readdirSync(delegated))
    if (isProcessId(id) && !isNeeded(id)) removeCgroup(join(delegated, id));
};
