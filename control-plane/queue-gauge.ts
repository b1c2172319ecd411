import type { Store } from "./store/store.ts";

/**
 * How many starts wait on all nodes, as far as one control plane knows: what it counted a moment ago and what it added since.
 * Several of them may pass the bound by what the others added in that moment; none passes it for long.
 */
export type QueueGauge = { hasRoom(): Promise<boolean> };

const countedForMs = 5000;

export function queueGauge(
  processes: Pick<Store["processes"], "countQueued">,
  maxQueued: number,
  nowMs: () => number = () => performance.now(),
): QueueGauge {
  let countedAt = -Infinity;
  let counting: Promise<void> | undefined;
  let waiting = 0;

  const count = async (): Promise<void> => {
    waiting = await processes.countQueued();
    countedAt = nowMs();
  };

  return {
    async hasRoom() {
      if (nowMs() - countedAt >= countedForMs)
        await (counting ??= count().finally(() => (counting = undefined)));
      if (waiting >= maxQueued) return false;
      waiting += 1;
      return true;
    },
  };
}
