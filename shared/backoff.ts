/** The bounds of a retry delay. */
export type BackoffBounds = { baseMs: number; maxMs: number };

const defaultBounds: BackoffBounds = { baseMs: 250, maxMs: 30_000 };

/**
 * How long to wait before the attempt after `attempt` failed ones (0 for the first), in whole ms: full jitter, anywhere
 * from 0 up to the doubled base, so that a fleet that lost its server does not come back in step. `random` gives [0, 1).
 */
export function backoffMs(
  attempt: number,
  random: () => number,
  bounds: BackoffBounds = defaultBounds,
): number {
  const ceiling = Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.max(0, attempt));
  return Math.floor(random() * ceiling);
}
