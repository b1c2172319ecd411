import { cgroupPids } from "./cgroup.ts";
import {
  allPids,
  groupLives,
  lastPid,
  type ProcEntry,
  type ProcTable,
  scanProcs,
  tagOf,
  ticksPerSecond,
} from "./proc-table.ts";
import type { Identity } from "./record.ts";

/**
 * Which processes belong to a command. No single sign finds them all: a child may leave the group, the session, its parent
 * or its environment. So members are those in the command's cgroup where it has one, those with the tag in the environment,
 * those in the wrapper's group or session, and the descendants of all these; and whoever was once seen as a member stays one (by pid and birth), since signs get lost
 * on the way (a parent dies, an environment is cleared).
 *
 * The wrapper's pid names its group and session only while the wrapper or a member in them lives: after that the pid may
 * be somebody else's. `rooted` says whether that chain is unbroken.
 */
export type Tree = {
  id: string;
  /** Leads the session and group, waits for the command; no member itself. */
  wrapper: Identity | null;
  /** Holds stdin open; no member either. */
  keeperPid: number | null;
  rooted: boolean;
  /** The command's own cgroup, where one was to be had. */
  cgroup: string | null;
  /** Pid → birth of the members at the last look. */
  seen: Map<number, number>;
};

export const newTree = (id: string): Tree => ({
  id,
  wrapper: null,
  keeperPid: null,
  rooted: true,
  cgroup: null,
  seen: new Map(),
});

/** Members alive now. What is found is remembered, what is gone is forgotten. */
export const membersOf = (tree: Tree, table: ProcTable = scanProcs()): ProcEntry[] => {
  const grouped = new Set(cgroupPids(tree.cgroup));
  const signed = table.entries.filter(
    (entry) => isSeen(tree, entry) || grouped.has(entry.pid) || knownTag(entry, table.atTicks) === tree.id,
  );
  const wrapperLives = table.entries.some((entry) => isWrapper(tree, entry));
  tree.rooted =
    wrapperLives || (tree.rooted && tree.seen.size === 0) || signed.some((entry) => inRoot(tree, entry));
  const members = withDescendants(
    [...signed, ...table.entries.filter((entry) => tree.rooted && inRoot(tree, entry))],
    table,
  );
  for (const pid of [tree.wrapper?.pid, tree.keeperPid, process.pid]) if (pid) members.delete(pid);
  tree.seen = new Map([...members.values()].map((entry) => [entry.pid, entry.startTicks]));
  if (!wrapperLives && tree.seen.size === 0) tree.rooted = false;
  return [...members.values()];
};

const isSeen = (tree: Tree, entry: ProcEntry): boolean => tree.seen.get(entry.pid) === entry.startTicks;
const isWrapper = (tree: Tree, entry: ProcEntry): boolean =>
  entry.pid === tree.wrapper?.pid && entry.startTicks === tree.wrapper.startTicks;
const inRoot = (tree: Tree, entry: ProcEntry): boolean =>
  tree.wrapper !== null &&
  entry.startTicks >= tree.wrapper.startTicks &&
  (entry.group === tree.wrapper.pid || entry.session === tree.wrapper.pid);

const withDescendants = (roots: ProcEntry[], table: ProcTable): Map<number, ProcEntry> => {
  const members = new Map(roots.map((entry) => [entry.pid, entry]));
  const children = Map.groupBy(table.entries, (entry) => entry.ppid);
  const open = [...roots];
  for (let parent = open.pop(); parent; parent = open.pop()) {
    for (const child of children.get(parent.pid) ?? []) {
      if (members.has(child.pid)) continue;
      members.set(child.pid, child);
      open.push(child);
    }
  }
  return members;
};

/**
 * Parents before their children, whatever their pids: a shell whose child is ended first goes on with its next command
 * until it is told itself.
 */
export const parentsFirst = (members: ProcEntry[]): ProcEntry[] => {
  const byPid = new Map(members.map((member) => [member.pid, member]));
  const depths = new Map(members.map((member) => [member, depthOf(member, byPid)]));
  return members.toSorted((a, b) => (depths.get(a) ?? 0) - (depths.get(b) ?? 0));
};

// Bounded, as a table read while processes come and go may hold a circle.
const depthOf = (member: ProcEntry, byPid: Map<number, ProcEntry>): number => {
  let depth = 0;
  for (let at = byPid.get(member.ppid); at && depth < byPid.size; at = byPid.get(at.ppid)) depth += 1;
  return depth;
};

/**
 * Tags by pid and birth. A tag that was found holds; that there is none is believed only of processes older than 2 s,
 * since a younger one may be between fork and exec.
 */
const tags = new Map<number, { startTicks: number; tag: string | undefined }>();
const maxTags = 20_000;

const knownTag = (entry: ProcEntry, atTicks: number): string | undefined => {
  const known = tags.get(entry.pid);
  if (known?.startTicks === entry.startTicks) return known.tag;
  const tag = tagOf(entry.pid);
  if (tags.size >= maxTags) tags.clear();
  if (tag !== undefined || atTicks - entry.startTicks > 2 * ticksPerSecond)
    tags.set(entry.pid, { startTicks: entry.startTicks, tag });
  return tag;
};

/**
 * Whether anything may live on after the leader, cheaply: somebody in the wrapper's group, or a process with a later pid
 * that carries the tag.
 */
export const mayHaveMembers = (tree: Tree): boolean => {
  const root = tree.wrapper?.pid;
  if (root === undefined) return false;
  if (cgroupPids(tree.cgroup).length > 0) return true;
  return groupLives(root) || pidsAfter(root).some((pid) => pid !== tree.keeperPid && tagOf(pid) === tree.id);
};

/**
 * Pids that were given out after this one: those up to the last, which is a lower one where pids began anew. Where only a few were,
 * they are counted up instead of listed.
 */
const pidsAfter = (pid: number): number[] => {
  const last = lastPid();
  if (last < pid) return allPids().filter((other) => other > pid || other <= last);
  if (last - pid <= 50) return Array.from({ length: last - pid }, (_, n) => pid + 1 + n);
  return allPids().filter((other) => other > pid);
};
