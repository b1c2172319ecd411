import type { Needs } from "../needs.ts";
import { tick, type TickState } from "./tick.ts";

export const tickEveryMs = 5000;

/** Ticks until it is stopped; a tick that takes longer than the interval is never overtaken by the next. */
export function startTicker(needs: Needs, everyMs = tickEveryMs): { stop(): Promise<void> } {
  let state: TickState = { since: needs.now(), prunedAt: null };
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = Promise.resolve();

  const run = async (): Promise<void> => {
    try {
      state = await tick(needs, state);
    } catch (error) {
      // The next tick finds the same things due.
      needs.log.warn("scheduler.tick_failed", { error });
    }
    if (!stopped) plan();
  };
  const plan = (): void => {
    timer = setTimeout(() => {
      running = run();
    }, everyMs);
  };

  plan();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
