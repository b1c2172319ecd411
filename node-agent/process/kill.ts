import { setTimeout as sleep } from "node:timers/promises";
import { killCgroup } from "./cgroup.ts";
import { pause } from "#shared/pause.ts";
import { commandOf, isAlive, type ProcEntry, procEntry, scanProcs } from "./proc-table.ts";
import type { Identity } from "./record.ts";
import { membersOf, parentsFirst, type Tree } from "./tree.ts";

/**
 * Ending a tree. TERM goes to all members at once; in the grace time the set is looked at again and again, so that whoever
 * is born meanwhile is known, and whoever could not hear it hears it then. Then all are stopped before any is killed: a stopped process cannot fork, so that after a
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
  const outcomes = parentsFirst(membersOf(tree)).map((member) => signalOne(member, signal));
  // A command may have stopped its whole group, wrapper included.
  if (signal === "SIGCONT" && tree.wrapper) signalOne(tree.wrapper, signal);
  return (
    outcomes.find((outcome) => outcome === "sent") ??
    outcomes.find((outcome) => outcome === "not_permitted") ??
    "gone"
  );
};

/** A command may have stopped its group, and with it the shell that is to write its ending. */
export const wakeWrapper = (tree: Tree, leader: Identity | null): void => {
  if (tree.wrapper && leader && !isAlive(leader)) signalOne(tree.wrapper, "SIGCONT");
};

const lookEveryMs = [10, 20, 40, 80, 100];
/** After KILL nothing but a process in an uninterruptible wait remains; it is then reported, not waited for. */
const killForMs = 10_000;

/**
 * TERM, grace, KILL until nothing is left; members that could not be ended are returned. `hurry` cuts the grace short, the
 * end of `life` leaves whoever is there alone.
 */
export const endTree = async (
  tree: Tree,
  grace: { ms: number; hurry: AbortSignal; life: AbortSignal },
): Promise<ProcEntry[]> => {
  const deadline = performance.now() + grace.ms;
  const told = new Set<string>();
  const isOver = () => performance.now() >= deadline || grace.hurry.aborted || grace.life.aborted;
  for (let look = 0; !isOver(); look++) {
    const members = membersOf(tree);
    if (members.length === 0) return [];
    askToEnd(tree, look === 0 ? members : missed(tree, members, told), told);
    const left = deadline - performance.now();
    await pause(Math.min(lookEveryMs[look] ?? 100, Math.max(left, 1)), grace.hurry);
  }
  return grace.life.aborted ? [] : killTree(tree);
};

const askToEnd = (tree: Tree, members: ProcEntry[], told: Set<string>): void => {
  if (members.length === 0) return;
  const wrapper = wrapperCommand(tree);
  for (const member of parentsFirst(members)) {
    // In the wrapper's fork that has not become the command yet, TERM may meet the wrapper's trap: it is told again.
    if (commandOf(member) !== wrapper) told.add(birthOf(member));
    signalOne(member, "SIGTERM");
  }
  // A stopped process would take TERM only when it goes on; a command may have stopped its whole group, wrapper included.
  for (const one of [...members, ...(tree.wrapper ? [tree.wrapper] : [])]) signalOne(one, "SIGCONT");
};

/**
 * Who is there without having heard TERM, and has nobody else to end it: the command itself, born or begun since, and
 * children born in the moment their parent died. What a living parent starts to clean up is left to it.
 */
const missed = (tree: Tree, members: ProcEntry[], told: Set<string>): ProcEntry[] => {
  const parents = new Set(members.map((member) => member.pid));
  return members.filter((member) => !told.has(birthOf(member)) && !parents.has(member.ppid));
};

const birthOf = ({ pid, startTicks }: ProcEntry): string => `${pid}:${startTicks}`;

const wrapperCommand = ({ wrapper }: Tree): string | undefined => {
  const entry = wrapper === null ? undefined : procEntry(wrapper.pid);
  return entry === undefined ? undefined : commandOf(entry);
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
    const fresh = members.filter((member) => !stopped.has(birthOf(member)));
    if (fresh.length === 0) return members;
    for (const member of fresh) {
      signalOne(member, "SIGSTOP");
      stopped.add(birthOf(member));
    }
  }
  return membersOf(tree);
};
