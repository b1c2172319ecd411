/** The longest a timer can wait; a longer time would fire at once. */
const longestMs = 2 ** 31 - 1;

/** Resolves after the time, or at once when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, longestMs));
    signal?.addEventListener("abort", done);
  });
}
