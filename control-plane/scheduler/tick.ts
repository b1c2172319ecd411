import type { Needs } from "../needs.ts";
import { fenceUnconfirmed } from "./fence.ts";
import { expireQueued, prune } from "./sweep.ts";

/** Agents of a control plane that was away are back within this time; until then a silent start may still be confirmed. */
export const settleMs = 60_000;
export const pruneEveryMs = 3_600_000;

/** What one tick needs to know of those before it: `since` is when this control plane began to listen. */
export type TickState = { since: Date; prunedAt: Date | null };

/** Does everything that is due. Idempotent: several control planes, or the same one twice, may do it at once. */
export async function tick(needs: Needs, state: TickState): Promise<TickState> {
  const now = needs.now().getTime();
  await expireQueued(needs);
  if (now - state.since.getTime() >= settleMs) await fenceUnconfirmed(needs);
  if (state.prunedAt !== null && now - state.prunedAt.getTime() < pruneEveryMs) return state;
  await prune(needs);
  return { ...state, prunedAt: new Date(now) };
}
