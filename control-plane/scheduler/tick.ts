import type { Needs } from "../needs.ts";
import { stopDrained } from "../actions/stop-drained.ts";
import { loseOnGone, settleOffline } from "./away.ts";
import { advanceFanouts } from "./advance-fanouts.ts";
import { fenceUnconfirmed } from "./fence.ts";
import { type AskedStops, tellStopsAgain } from "./unheard-stops.ts";
import { endLeases, expireQueued, prune } from "./sweep.ts";

/** Agents of a control plane that was away are back within this time; until then a silent start may still be confirmed. */
export const settleMs = 60_000;
export const pruneEveryMs = 3_600_000;

/** What one tick needs to know of those before it: `since` is when this control plane began to listen. */
export type TickState = { since: Date; prunedAt: Date | null; asked?: AskedStops };

/** Whoever sweeps goes on doing so; when it stops, another one does after this time. */
const sweepLeaseMs = 15_000;

/**
 * Does everything that is due. Idempotent: several control planes, or the same one twice, may do it at once. Each looks after the
 * starts of the nodes that it holds; the sweeps over all rows are done by one, under a lease.
 */
export async function tick(needs: Needs, before: TickState): Promise<TickState> {
  const now = needs.now().getTime();
  if (now - before.since.getTime() >= settleMs) await fenceUnconfirmed(needs);
  const state = { ...before, asked: await tellStopsAgain(needs, before.asked ?? new Map()) };
  if (!(await needs.store.leases.take("sweeps", needs.instance, sweepLeaseMs))) return state;
  await settleOffline(needs);
  await loseOnGone(needs);
  await expireQueued(needs);
  await stopDrained(needs);
  await endLeases(needs);
  await advanceFanouts(needs);
  if (state.prunedAt !== null && now - state.prunedAt.getTime() < pruneEveryMs) return state;
  await prune(needs);
  return { ...state, prunedAt: new Date(now) };
}
