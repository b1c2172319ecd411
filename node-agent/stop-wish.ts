/** What TERM, INT and HUP ask for: the first to stop, a second one to leave at once what is still running. */
export type StopWish = {
  /** Aborts at the first signal. */
  stop: AbortSignal;
  /** Resolves at the first signal. */
  stopped: Promise<undefined>;
  /** Aborts at the second signal. */
  leave: AbortSignal;
};

const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** One Ctrl-C may arrive twice, from the terminal and by the parent that passes it on. */
const sameWishMs = 300;

/** Listens for the rest of this process's life. */
export function listenForStop(): StopWish {
  const stop = new AbortController();
  const leave = new AbortController();
  let firstAt: number | undefined;
  const heard = (): void => {
    firstAt ??= performance.now();
    if (!stop.signal.aborted) stop.abort();
    else if (performance.now() - firstAt > sameWishMs) leave.abort();
  };
  for (const name of signals) process.on(name, heard);
  return {
    stop: stop.signal,
    stopped: new Promise((resolve) =>
      stop.signal.addEventListener("abort", () => resolve(undefined), { once: true }),
    ),
    leave: leave.signal,
  };
}
