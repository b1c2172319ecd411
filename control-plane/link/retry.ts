/** Resolves after the time, or at once when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

export type Persistence = {
  signal: AbortSignal;
  pauses: { first: number; longest: number };
  onFailure: (error: unknown) => void;
};

/** Tries until it works, with growing pauses; undefined when the signal aborts first. */
export async function persist<T>(
  work: () => Promise<T>,
  { signal, pauses, onFailure }: Persistence,
): Promise<{ value: T } | undefined> {
  for (let wait = pauses.first; !signal.aborted; wait = Math.min(wait * 2, pauses.longest)) {
    try {
      return { value: await work() };
    } catch (error) {
      onFailure(error);
    }
    await pause(wait, signal);
  }
  return undefined;
}
