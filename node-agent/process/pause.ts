import { setTimeout as sleep } from "node:timers/promises";

/** The longest a timer of the system can wait; a longer time fires at once. */
const longestMs = 2 ** 31 - 1;

/** Waits, at most until the signal aborts. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  // An abort only ends the pause.
  await sleep(Math.min(ms, longestMs), undefined, { signal }).catch(() => undefined);
};
