import { setTimeout as sleep } from "node:timers/promises";
import { killCgroup } from "./cgroup.ts";
import { pause } from "./pause.ts";
import { isAlive, type ProcEntry, procEntry, scanProcs } from "./proc-table.ts";
import { membersOf, type Tree } from "./tree.ts";

/**
 * Ending a tree. TERM goes to all members at once; in the grace time the set is looked at again and again, so that whoever
 * is born meanwhile is known. Then all are stopped before any is killed: a stopped process cannot fork, so that after a
 * look that finds nobody new the set is complete. The wrapper is spared: it writes the ending when its child is gone.
 * A signal goes only to a pid whose birth is the one that was seen.
 */
export type SignalOutcome = "sent" | "gone" | "not_permitted";

export const signalOne = (
  target: { pid: number; startTicks: number },
  signal: NodeJS.Signals,
): SignalOutcome => {
  if (target.pid <= 1 || procEntry(target.pid)?.startTicks !== target.startTicks) return "gone";
  try {
    process.kill(target.pid, signal);
    return "sent";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "not_permitted" : "gone";
  }
};

/** Sends one signal to every member; `sent` when at least one got it. */
export const signalTree = (tree: Tree, signal: NodeJS.Signals): SignalOutcome => {
  const outcomes = membersOf(tree).map((member) => signalOne(member, signal));
  // A command may have stopped its whole group, wrapper included.
  if (signal === "SIGCONT" && tree.wrapper) signalOne(tree.wrapper, signal);
  return (
    outcomes.find((outcome) => outcome === "sent") ??
    outcomes.find((outcome) => outcome === "not_permitted") ??
    "gone"
  );
};

const lookEveryMs = [10, 20, 40, 80, 100];
/** After KILL nothing but a process in an uninterruptible wait remains; it is then reported, not waited for. */
const killForMs = 10_000;

/** TERM, grace, KILL until nothing is left; members that could not be ended are returned. `hurry` cuts the grace short. */
export const endTree = async (
  tree: Tree,
  grace: { ms: number; hurry: AbortSignal },
): Promise<ProcEntry[]> => {
  const deadline = performance.now() + grace.ms;
  if (grace.ms > 0) {
    signalTree(tree, "SIGTERM");
    // A stopped process would take TERM only when it goes on.
    signalTree(tree, "SIGCONT");
  }
  for (let look = 0; performance.now() < deadline && !grace.hurry.aborted; look++) {
    if (membersOf(tree).length === 0) return [];
    const left = deadline - performance.now();
    await pause(Math.min(lookEveryMs[look] ?? 100, Math.max(left, 1)), grace.hurry);
  }
  return killTree(tree);
};

export const killTree = async (tree: Tree): Promise<ProcEntry[]> => {
  const deadline = performance.now() + killForMs;
  for (let look = 0; ; look++) {
    const members = freeze(tree);
    if (members.length === 0) return [];
    if (tree.wrapper) signalOne(tree.wrapper, "SIGCONT");
    killCgroup(tree.cgroup);
    const outcomes = members.map((member) => signalOne(member, "SIGKILL"));
    if (outcomes.every((outcome) => outcome === "not_permitted") || performance.now() > deadline)
      return members.filter(isAlive);
    await sleep(lookEveryMs[look] ?? 100);
  }
};

/** Stops everybody until a look finds nobody new. */
const freeze = (tree: Tree): ProcEntry[] => {
  const stopped = new Set<string>();
  for (let look = 0; look < 100; look++) {
    const members = membersOf(tree, scanProcs());
    const fresh = members.filter((member) => !stopped.has(`${member.pid}:${member.startTicks}`));
    if (fresh.length === 0) return members;
    for (const member of fresh) {
      signalOne(member, "SIGSTOP");
      stopped.add(`${member.pid}:${member.startTicks}`);
    }
  }
  return membersOf(tree);
};
