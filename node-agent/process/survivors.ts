import type { Survivor } from "#shared/survivor.ts";
import { commandOf, type ProcTable } from "./proc-table.ts";
import { membersOf, type Tree } from "./tree.ts";

/** More are counted as alive, but not listed. */
const maxListed = 100;

/** Who of a tree lives on after its leader. */
export const survivorsOf = (tree: Tree, table?: ProcTable): Survivor[] =>
  membersOf(tree, table)
    .slice(0, maxListed)
    .map((member) => ({ pid: member.pid, command: commandOf(member) }));

export const sameSurvivors = (a: Survivor[], b: Survivor[]): boolean =>
  a.map((s) => s.pid).join() === b.map((s) => s.pid).join();
