import { readFileSync } from "node:fs";
import { boundsMemory, ranOutOfMemory } from "./cgroup.ts";
import type { Child } from "./child.ts";
import { firstEnd } from "./ending.ts";
import type { EndIntent, Intent } from "./intents.ts";
import type { ProcEntry, ProcTable } from "./proc-table.ts";
import type { RunRecord } from "./record.ts";
import { membersOf } from "./tree.ts";

/**
 * `limits.memBytes`: memory of a command and all that it starts. Where it has a cgroup, the kernel ends the group that takes
 * more, and the wrapper writes that the leader died of KILL; that it did so of memory the group still tells afterwards, to
 * this agent or the next. Elsewhere the agent looks now and then: what grows faster than it looks is over the limit for a moment.
 */
export const outOfMemory: EndIntent = {
  kind: "end",
  status: "timed_out",
  reason: "mem_limit",
  graceMs: 0,
};

const killedCode = 128 + 9;

/** Whether an ending in the record is the kernel's work, which nobody has noted yet. */
export const endedByMemory = (record: RunRecord, intents: Intent[], cgroup: string | null): boolean =>
  record.exit?.code === killedCode && record.announced && !firstEnd(intents) && ranOutOfMemory(cgroup);

/** Whether its memory is bounded by looking at it. */
export const wantsMemoryLook = ({ phase, spec, tree }: Child): boolean =>
  spec.memBytes !== null && phase !== "claimed" && !boundsMemory(tree.cgroup);

export const isOverMemory = (child: Child, table: ProcTable): boolean => {
  const limit = child.spec.memBytes ?? Infinity;
  const members = membersOf(child.tree, table);
  if (sum(members, residentBytes) <= limit) return false;
  // Pages that several of them share count in each; only the dearer look counts them once.
  return sum(members, proportionalBytes) > limit;
};

const sum = (members: ProcEntry[], bytesOf: (pid: number) => number): number =>
  members.reduce((total, { pid }) => total + bytesOf(pid), 0);

const residentBytes = (pid: number): number => kibIn(pid, "status", /^VmRSS:\s*(\d+) kB/m) ?? 0;
const proportionalBytes = (pid: number): number =>
  kibIn(pid, "smaps_rollup", /^Pss:\s*(\d+) kB/m) ?? residentBytes(pid);

const kibIn = (pid: number, file: string, line: RegExp): number | undefined => {
  try {
    const found = line.exec(readFileSync(`/proc/${pid}/${file}`, "latin1"));
    return found ? Number(found[1]) * 1024 : undefined;
  } catch {
    // It ended while we looked, or belongs to somebody else.
    return undefined;
  }
};
