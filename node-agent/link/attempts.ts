import { backoffMs } from "#shared/backoff.ts";
import type { Verdict } from "./verdict.ts";

const backoff = { baseMs: 250, maxMs: 30_000 };
const calmMs = 7500;
const stepsAfterLive = 3;

/** How a socket ended: what follows from it, and how long it was live (0: it never was). */
export type Ended = { next: Exclude<Verdict["next"], "stop">; liveMs: number };

/**
 * When the next attempt comes, and its number. The wait grows with each attempt, at random up to 250 ms · 2ⁿ and 30 s; every
 * 7.5 s of a live socket take one step back, so that after a stable minute the first attempt comes at once and a flapping
 * line is not hammered. A line that was live a moment ago is not waited for longer than 2 s: the control plane is there, and
 * its starts wait for us.
 */
export function nextAttempt(
  attempt: number,
  { next, liveMs }: Ended,
  random: () => number,
): { waitMs: number; attempt: number } {
  const calmed = Math.max(0, attempt - Math.floor(liveMs / calmMs));
  const step = liveMs > 0 ? Math.min(calmed, stepsAfterLive) : calmed;
  return {
    waitMs: next === "retry_late" ? backoff.maxMs : Math.round(backoffMs(step, random, backoff)),
    attempt: step + 1,
  };
}
