import { canceling, isFinalFanout } from "#shared/fanout-state.ts";
import { DroverError } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { FanoutRow } from "../store/store.ts";
import { getFanout, tellOfFanout } from "./get-fanout.ts";
import { runFanout } from "./run-fanout.ts";

const conflict = (message: string): DroverError => new DroverError("conflict", message);

/** Who sees only a part of the fleet steers only what runs nowhere else. */
const requireWhole = async (needs: Needs, id: string): Promise<void> => {
  if (needs.within === undefined) return;
  await getFanout(needs, id);
  if (!(await needs.store.fanouts.isWithin(id, needs.within)))
    throw new DroverError("forbidden", "the fan-out has nodes outside of the scope of your token");
};

/** Starts nothing more until it is resumed; what runs goes on. Of a paused one nothing changes. */
export const pauseFanout = async (needs: Needs, id: string): Promise<FanoutRow> => {
  await requireWhole(needs, id);
  await needs.store.fanouts.pause(id, "requested");
  return steered(needs, id, "pause");
};

/** Goes on, and accepts the failures so far: only later ones can pause it again. Of a running one nothing changes. */
export const resumeFanout = async (needs: Needs, id: string): Promise<FanoutRow> => {
  await requireWhole(needs, id);
  await needs.store.fanouts.resume(id);
  return steered(needs, id, "resume");
};

const steered = async (needs: Needs, id: string, verb: "pause" | "resume"): Promise<FanoutRow> => {
  const row = await getFanout(needs, id);
  if (isFinalFanout(row.status)) throw conflict(`the fan-out has ended; there is nothing to ${verb}`);
  if (row.reason === canceling) throw conflict("the fan-out is being canceled");
  tellOfFanout(needs, id);
  return row;
};

/** Starts nothing more and stops what runs; canceled once that has ended. Of a final one nothing changes. */
export const cancelFanout = async (needs: Needs, id: string): Promise<FanoutRow> => {
  await requireWhole(needs, id);
  await needs.store.fanouts.cancel(id, needs.now());
  // Whoever drives it does the same; this one only does not wait for that.
  await runFanout(needs, id);
  tellOfFanout(needs, id);
  return getFanout(needs, id);
};

/** Every node that ended without success waits again as a new attempt, and the fan-out runs. */
export const retryFanout = async (needs: Needs, id: string): Promise<FanoutRow> => {
  await requireWhole(needs, id);
  const count = await needs.store.fanouts.retry(id, needs.now());
  const row = await getFanout(needs, id);
  if (count === 0)
    throw conflict(
      row.reason === canceling ? "the fan-out is being canceled" : "no node has ended without success",
    );
  tellOfFanout(needs, id);
  return row;
};
