/**
 * Several sources as one, in the order in which their values come. A source is asked for its next value only after
 * the last one was taken, so a slow consumer slows all of them. Nothing is held for a source that stays silent
 * (a race over pending promises would keep a reaction for every value of the others).
 */
export async function* merged<T>(sources: AsyncGenerator<T, void>[]): AsyncGenerator<T, void> {
  const ready: Arrival<T>[] = [];
  let wake = (): void => {};
  const pull = (source: AsyncGenerator<T, void>): void => {
    const arrived = (arrival: Arrival<T>): void => {
      ready.push(arrival);
      wake();
    };
    source.next().then(
      (result) => arrived({ source, result }),
      (error: unknown) => arrived({ source, error }),
    );
  };
  try {
    for (const source of sources) pull(source);
    for (let open = sources.length; open > 0;) {
      const arrival = ready.shift();
      if (arrival === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else if ("error" in arrival) throw arrival.error;
      else if (arrival.result.done === true) open--;
      else {
        yield arrival.result.value;
        pull(arrival.source);
      }
    }
  } finally {
    // Not awaited: a source in the middle of waiting ends when its own signal aborts. What it then throws is of no use to anybody.
    for (const source of sources) source.return().catch(() => {});
  }
}

type Arrival<T> = { source: AsyncGenerator<T, void> } & (
  | { result: IteratorResult<T, void> }
  | { error: unknown }
);
