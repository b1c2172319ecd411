import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { isGone } from "./stop-process.ts";
import { Watch } from "./watch.ts";

// Notices may be dropped: a follower looks by itself now and then.
const lookEveryMs = 15_000;

/** The newest known row of a followed process, for all parts of one follower. */
export class FollowedRow {
  row: ProcessRow;
  readonly signal: AbortSignal;
  readonly #needs: Needs;
  readonly #gone = new AbortController();
  readonly #watch: Watch;
  readonly #wakers = new Set<() => void>();
  #closed = false;

  constructor(needs: Needs, row: ProcessRow, signal: AbortSignal) {
    this.row = row;
    this.signal = signal;
    this.#needs = needs;
    this.#watch = new Watch(needs.bus, [`process:${row.id}`, `node:${row.nodeId}`]);
  }

  /** Aborts when nothing of the process is left: what its node streams then can be read in full. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Each row as it changes, beginning with one that is read after the subscription; ends when nothing of the process is left. */
  async *rows(): AsyncGenerator<ProcessRow, void> {
    for (;;) {
      const row = await this.#needs.store.processes.get(this.row.id);
      // Deleted meanwhile: the stream ends without its final event.
      if (row === undefined || this.signal.aborted || this.#closed) return this.#over();
      this.row = row;
      if (isGone(row)) this.#gone.abort();
      yield row;
      this.wake();
      if (isGone(row)) return;
      await this.#watch.next(lookEveryMs, this.signal);
      if (this.#closed) return;
    }
  }

  /** Resolves at the next look, after `ms`, or when the follower leaves. */
  changed(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wakers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wakers.add(wake);
      if (this.signal.aborted) wake();
    });
  }

  close(): void {
    this.#closed = true;
    this.#watch.close();
    this.#over();
  }

  #over(): void {
    this.#gone.abort();
    this.wake();
  }

  wake(): void {
    for (const wake of [...this.#wakers]) wake();
  }
}
