import { isFinal, saysItNeverRan } from "#shared/process-state.ts";
import type { ProcessRow } from "../store/store.ts";
import type { InventoryItem } from "./alive.ts";

/** What has to be done so that a node's rows and its inventory agree again. */
export type Comparison = {
  /** Started, never heard of and not there: the start did not arrive. */
  missing: ProcessRow[];
  /** The same, but it went to another machine or data folder than the one that says hello now: it may have arrived there. */
  unconfirmed: ProcessRow[];
  /** Once reported and no longer there: the agent lost what it knew. */
  lost: ProcessRow[];
  /** There, and a stop was asked for. */
  stop: ProcessRow[];
  /** Ended with survivors that still live there. */
  surviving: ProcessRow[];
  /** Ended with survivors, and no longer there: what became of them is not known. */
  survivorsLost: ProcessRow[];
  /** Alive there and not among the unfinished rows. */
  strangers: string[];
};

/** What an agent says it has, and whether another machine or data folder had the node before. */
export type Inventory = { items: InventoryItem[]; moved: boolean };

/** Compares the unfinished rows of a node with its inventory; `present` knows what was started or reported since the hello. */
export function compare(
  rows: ProcessRow[],
  { items: inventory, moved }: Inventory,
  present: (id: string) => boolean,
): Comparison {
  const listed = new Set(inventory.map((item) => item.id));
  const there = (row: ProcessRow): boolean => listed.has(row.id) || present(row.id);
  const known = new Set(rows.map((row) => row.id));
  const live = rows.filter((row) => row.status !== "queued" && !isFinal(row.status));
  const absent = live.filter((row) => !there(row));
  const unheard = absent.filter((row) => row.revision === 0 && row.status === "starting");
  return {
    missing: moved ? [] : unheard,
    unconfirmed: moved ? unheard : [],
    lost: absent.filter((row) => row.revision > 0 || row.status !== "starting"),
    stop: rows.filter((row) => row.stop !== null && there(row)),
    survivorsLost: rows.filter((row) => isFinal(row.status) && !there(row)),
    surviving: rows.filter((row) => isFinal(row.status) && there(row)),
    strangers: inventory
      .filter((item) => !isFinal(item.status) && !known.has(item.id))
      .map((item) => item.id),
  };
}

/**
 * The stop that a process alive on a node needs though its row is final: it never ran, or it was to be stopped when its node
 * was given up. Undefined when it may go on.
 */
export function stopOfStranger(row: ProcessRow): { graceMs: number } | undefined {
  const mayNotRun =
    (row.status === "lost" && row.stop !== null) ||
    saysItNeverRan(row.status) ||
    (row.status === "lost" && row.reason === "unconfirmed");
  return mayNotRun ? { graceMs: row.stop?.graceMs ?? row.launch.graceMs } : undefined;
}
