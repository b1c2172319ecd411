import { isFinalFanout } from "#shared/fanout-state.ts";
import { DroverError } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { FanoutRow } from "../store/store.ts";
import { Watch } from "./watch.ts";
import type { Limit } from "./wait-final.ts";

// Notices are hints and may be dropped, so a waiter looks by itself now and then.
const lookEveryMs = 15_000;

/** The topic of those who drive fan-outs: one was made, or goes on. */
export const openFanouts = "fanout:open";

/** Says that a fan-out changed: to those who follow it, and to those who drive it. */
export const tellOfFanout = ({ bus }: Needs, id: string): void => {
  bus.publish(`fanout:${id}`);
  bus.publish(openFanouts);
};

/** The fan-out, or `not_found`. */
export const getFanout = async (needs: Needs, id: string): Promise<FanoutRow> => {
  const row = await needs.store.fanouts.get(id);
  if (row === undefined) throw new DroverError("not_found", "there is no such fan-out");
  return row;
};

/** The fan-out once it is final, or as it is when the time is over. */
export const waitFinalFanout = async (needs: Needs, id: string, limit: Limit): Promise<FanoutRow> => {
  const watch = new Watch(needs.bus, [`fanout:${id}`]);
  const end = performance.now() + limit.waitMs;
  try {
    for (;;) {
      const row = await getFanout(needs, id);
      const leftMs = end - performance.now();
      if (isFinalFanout(row.status) || leftMs <= 0) return row;
      if ((await watch.next(Math.min(leftMs, lookEveryMs), limit.signal)) === "aborted") return row;
    }
  } finally {
    watch.close();
  }
};
