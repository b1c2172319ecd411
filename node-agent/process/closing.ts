import { pause } from "#shared/pause.ts";
import type { Survivor } from "#shared/survivor.ts";
import type { Child } from "./child.ts";
import { boundOutput, overBound } from "./disk-bound.ts";
import { endingIn } from "./ending.ts";
import type { Intent } from "./intents.ts";
import type { ProcTable } from "./proc-table.ts";
import type { Ending, RunRecord } from "./record.ts";
import { settled } from "./settle.ts";
import { sameSurvivors, survivorsOf } from "./survivors.ts";
import { mayHaveMembers } from "./tree.ts";
import type { TreeKiller } from "./tree-killer.ts";

/**
 * The last part of a process's life: told → settling → ended.
 *
 * - told: the record has its ending, which nothing changes any more. A wrapper of this agent is still to exit.
 * - settling: the leader is gone and something may live on. The ending waits until the output was quiet for 300 ms, at
 *   most 3 s, or until a kill under way has found nobody left.
 * - ended: final. It is reported once the output is under its bound; who lives on is watched.
 */
type ClosingHooks = {
  killer: TreeKiller;
  life: AbortSignal;
  /** A new revision; at the ending it comes before the report does. */
  renew(): void;
  report(): void;
};

const sweepAfterMs = 2000;
/** A wrapper that has written the ending and stays (somebody stopped it) is waited for this long. */
const wrapperEndsWithinMs = 1000;

export class Closing {
  /** Whether the exit of a wrapper that this agent spawned is still to come. */
  awaitsExit = false;
  #child: Child;
  #hooks: ClosingHooks;
  #phase: "settling" | "ended" | undefined;
  /** The ending as it was first seen in the record, and when. */
  #told: Ending | undefined;
  #toldMs: number | undefined;
  #ending: Ending | undefined;
  #survivors: Survivor[] = [];
  #isBounding = false;
  #ended = new AbortController();

  constructor(child: Child, hooks: ClosingHooks) {
    this.#child = child;
    this.#hooks = hooks;
  }

  get phase(): "settling" | "ended" | undefined {
    return this.#phase;
  }
  get told(): Ending | undefined {
    return this.#told;
  }
  get ending(): Ending | undefined {
    return this.#ending;
  }
  get survivors(): Survivor[] {
    return this.#survivors;
  }
  /** Whether nobody is left and nothing is to be done any more. */
  get over(): boolean {
    return this.#phase === "ended" && this.#survivors.length === 0 && !this.#isBounding;
  }
  get isBounding(): boolean {
    return this.#isBounding;
  }
  /** Aborts when the ending is final. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Takes the ending from the record, where it has one. */
  hear(record: RunRecord | undefined, intents: Intent[]): Ending | undefined {
    // What comes after the ending was written does not change it.
    return (this.#told ??= record && endingIn(record, intents));
  }

  /** Our own wrapper ends in a moment and its exit looks again; until then it would pass for somebody who lives on. */
  waitsForWrapper(): boolean {
    if (!this.awaitsExit) return false;
    this.#toldMs ??= performance.now();
    return performance.now() - this.#toldMs < wrapperEndsWithinMs;
  }

  /** The leader is gone: at once final when nothing lives on, else when it has settled. */
  begin(ending: Ending): void {
    this.#phase = "settling";
    if (!this.#hooks.killer.work && !mayHaveMembers(this.#child.tree)) return this.finish(ending, []);
    void this.#settle(ending);
  }

  async #settle(ending: Ending): Promise<void> {
    const began = performance.now();
    const { tree, snapshots, spec } = this.#child;
    const { life, killer } = this.#hooks;
    await settled(tree, { size: () => snapshots.totalBytes(), killing: () => killer.work, life });
    if (life.aborted) return;
    this.finish(ending, survivorsOf(tree));
    if (!spec.keepDescendants && this.#survivors.length > 0) void this.#sweepLater(began);
  }

  async #sweepLater(began: number): Promise<void> {
    const { life, killer } = this.#hooks;
    await pause(Math.max(0, sweepAfterMs - (performance.now() - began)), life);
    if (!life.aborted) killer.sweep();
  }

  finish(ending: Ending, survivors: Survivor[]): void {
    this.#phase = "ended";
    this.#ending = ending;
    this.#survivors = survivors;
    this.#hooks.renew();
    this.#isBounding = overBound(this.#child);
    this.#ended.abort();
    if (this.#isBounding) void this.#bound();
    else this.#hooks.report();
  }

  /** Final as an earlier agent saw it, or as it is known by rule. */
  restore(ending: Ending): void {
    this.#phase = "ended";
    this.#ending = ending;
    this.#ended.abort();
  }

  /** Work under way when it ended went by an older size and the looser bound of the living: a second pass does the rest. */
  async #bound(): Promise<void> {
    await boundOutput(this.#child);
    await boundOutput(this.#child);
    this.#isBounding = false;
    if (!this.#hooks.life.aborted) this.#hooks.report();
  }

  /** Looks who still lives after the leader, and reports it when that changed. */
  watchSurvivors(table?: ProcTable): void {
    if (this.#phase !== "ended" || this.#hooks.life.aborted) return;
    const now = survivorsOf(this.#child.tree, table);
    if (sameSurvivors(now, this.#survivors)) return;
    this.#survivors = now;
    this.#hooks.renew();
    this.#hooks.report();
  }
}
