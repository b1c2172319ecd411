import { openFanouts } from "../actions/get-fanout.ts";
import { runFanout } from "../actions/run-fanout.ts";
import type { Needs } from "../needs.ts";

/** A step of every open fan-out. The ticks alone bring each to its end; the driver only makes it quicker. */
export async function advanceFanouts(needs: Needs): Promise<void> {
  const ids = await needs.store.fanouts.open();
  for (const id of ids) {
    try {
      await runFanout(needs, id);
    } catch (error) {
      // One that fails holds up no other; the next tick tries it again.
      needs.log.warn("fanout.step_failed", { fanoutId: id, error });
    }
  }
  // A driver that missed a notice looks again, too.
  if (ids.length > 0) needs.bus.publish(openFanouts);
}
