/**
 * Several sources as one, in the order in which their values come. A source is asked for its next value only after
 * the last one was taken, so a slow consumer slows all of them. Nothing is held for a source that stays silent
 * (a race over pending promises would keep a reaction for every value of the others).
 */
export const merged = <T>(sources: AsyncGenerator<T, void>[]): AsyncGenerator<T, void> => {
  const all = new Sources<T>();
  for (const source of sources) all.add(source);
  return all.values();
};

/** The same, for sources that come while the others are read. Over when all that were added are. */
export class Sources<T> {
  readonly #ready: Arrival<T>[] = [];
  readonly #open = new Set<AsyncGenerator<T, void>>();
  #wake = (): void => {};

  add(source: AsyncGenerator<T, void>): void {
    this.#open.add(source);
    this.#pull(source);
  }

  async *values(): AsyncGenerator<T, void> {
    try {
      while (this.#open.size > 0) {
        const arrival = this.#ready.shift();
        if (arrival === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else if ("error" in arrival) throw arrival.error;
        else if (arrival.result.done === true) this.#open.delete(arrival.source);
        else {
          yield arrival.result.value;
          this.#pull(arrival.source);
        }
      }
    } finally {
      // Not awaited: a source in the middle of waiting ends when its own signal aborts. What it then throws is of no use to anybody.
      for (const source of this.#open) source.return().catch(() => {});
    }
  }

  #pull(source: AsyncGenerator<T, void>): void {
    const arrived = (arrival: Arrival<T>): void => {
      this.#ready.push(arrival);
      this.#wake();
    };
    source.next().then(
      (result) => arrived({ source, result }),
      (error: unknown) => arrived({ source, error }),
    );
  }
}

type Arrival<T> = { source: AsyncGenerator<T, void> } & (
  | { result: IteratorResult<T, void> }
  | { error: unknown }
);
