import type { ChildProcess } from "node:child_process";
import { pause } from "#shared/pause.ts";
import { groupLives, type ProcEntry, scanProcs } from "../process/proc-table.ts";

/**
 * The group of a program that this agent started as its leader. It gets time to end by itself, since whoever is ended in
 * the middle of its work may leave a lock behind; then comes TERM, and KILL for those who stay.
 *
 * The group's number is its own while its leader lives, and after that as long as at each look somebody is in it who was in
 * it at the look before. Once that chain is broken, the number may be another's and nothing is signalled any more.
 */
const lookEveryMs = 50;
/** From TERM to KILL. */
const graceMs = 2000;

export class ProgramGroup {
  readonly #id: number | undefined;
  #isLed: boolean;
  #seen: ProcEntry[] = [];

  constructor(leader: ChildProcess) {
    this.#id = leader.pid;
    this.#isLed = leader.pid !== undefined;
    leader.once("exit", () => {
      this.#isLed = false;
      this.#seen = this.#members();
    });
  }

  /** Resolves when nobody is left; an abort of `hurry` ends the time they have. */
  async end(patienceMs: number, hurry?: AbortSignal): Promise<void> {
    await this.#gone(patienceMs, hurry);
    this.#signal("SIGTERM");
    await this.#gone(graceMs);
    this.#signal("SIGKILL");
  }

  async #gone(withinMs: number, hurry?: AbortSignal): Promise<void> {
    const until = performance.now() + withinMs;
    while (this.#lives() && performance.now() < until && hurry?.aborted !== true)
      await pause(lookEveryMs, hurry);
  }

  #lives(): boolean {
    if (this.#isLed) return true;
    const now = this.#seen.length === 0 ? [] : this.#members();
    this.#seen = now.some((entry) => this.#wasSeen(entry)) ? now : [];
    return this.#seen.length > 0;
  }

  #wasSeen({ pid, startTicks }: ProcEntry): boolean {
    return this.#seen.some((entry) => entry.pid === pid && entry.startTicks === startTicks);
  }

  #members(): ProcEntry[] {
    if (this.#id === undefined || !groupLives(this.#id)) return [];
    return scanProcs().entries.filter((entry) => entry.group === this.#id);
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      if (this.#id !== undefined && this.#lives()) process.kill(-this.#id, signal);
    } catch {
      // The last one left in this moment, or they have become another user's.
    }
  }
}
