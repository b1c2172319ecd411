import type { Log } from "../needs.ts";

/**
 * The time by which control planes on one database decide: the database's, told by the own clock and what that is off. Were each
 * to go by its own, a lease that one gave would be over too soon at another, and a key that is at work there free again.
 *
 * What is measured is as exact as the way to the database is short; small differences are left alone, so that time does not
 * go to and fro.
 */
export class SharedClock {
  readonly #log: Log;
  readonly #own: () => number;
  #aheadMs = 0;

  constructor(log: Log, own: () => number = Date.now) {
    this.#log = log;
    this.#own = own;
  }

  readonly now = (): Date => new Date(this.#own() - this.#aheadMs);

  /** Asks for the time of the database and goes by it from now on. */
  async set(timeOfDatabase: () => Promise<Date>): Promise<void> {
    const asked = this.#own();
    const at = (await timeOfDatabase()).getTime();
    const answered = this.#own();
    const aheadMs = (asked + answered) / 2 - at;
    const doubtMs = smallMs + (answered - asked) / 2;
    if (answered < asked || Math.abs(aheadMs - this.#aheadMs) <= doubtMs) return;
    this.#aheadMs = Math.round(aheadMs);
    if (Math.abs(aheadMs) > loggedMs) this.#log.warn("clock.skewed", { aheadMs: this.#aheadMs });
  }
}

const smallMs = 100;
const loggedMs = 5000;
