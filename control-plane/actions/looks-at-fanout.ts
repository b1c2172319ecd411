import type { Needs } from "../needs.ts";
import type { FanoutNodeRow, FanoutRow } from "../store/store.ts";
import { Watch } from "./watch.ts";

/** A fan-out and all its nodes that do not wait. */
export type Look = { row: FanoutRow; nodes: FanoutNodeRow[] };

// Notices may be dropped: a follower looks by itself now and then.
const lookEveryMs = 15_000;
/** Between two looks at least, and longer where a look costs more. */
const shortestMs = 20;
const nodesPerMs = 20;

/** A fan-out as it changes, beginning with what it is now; ends when it is deleted or the signal aborts. */
export async function* looksAtFanout(
  needs: Needs,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<Look, void> {
  const watch = new Watch(needs.bus, [`fanout:${id}`]);
  try {
    while (!signal.aborted) {
      // The fan-out first: one that is final here has final nodes below.
      const row = await needs.store.fanouts.get(id);
      if (row === undefined) return;
      const nodes = await needs.store.fanouts.begun(id);
      yield { row, nodes };
      await pause(shortestMs + nodes.length / nodesPerMs, signal);
      await watch.next(lookEveryMs, signal);
    }
  } finally {
    watch.close();
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", over);
    if (signal.aborted) over();
  });
