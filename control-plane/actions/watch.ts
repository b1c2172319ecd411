import type { Bus, Topic } from "../bus/bus.ts";

/**
 * Remembers between two looks whether something changed, so that a notice that comes while its subscriber
 * is busy is not lost. Subscribe first, then look, then wait for `next`, then look again.
 */
export class Watch {
  #changed = false;
  #wake: (() => void) | undefined;
  readonly #ends: (() => void)[];

  constructor(bus: Bus, topics: Topic[]) {
    this.#ends = topics.map((topic) => bus.subscribe(topic, () => this.#notice()));
  }

  /** Resolves at the next notice (at once if one came since the last call), after `ms`, or when the signal aborts. */
  async next(ms: number, signal: AbortSignal): Promise<"changed" | "time_out" | "aborted"> {
    if (!this.#changed && !signal.aborted) await this.#sleep(ms, signal);
    if (signal.aborted) return "aborted";
    if (!this.#changed) return "time_out";
    this.#changed = false;
    return "changed";
  }

  close(): void {
    for (const end of this.#ends) end();
    this.#wake?.();
  }

  #notice(): void {
    this.#changed = true;
    this.#wake?.();
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener("abort", wake);
      this.#wake = wake;
    });
  }
}
