import type { Needs } from "../needs.ts";

/**
 * Stops what still lives on nodes whose drain is past its deadline. The wish is stored first: a node that is away hears of it
 * when it is back, and whoever else does the same at this moment finds nothing left to ask for.
 */
export const stopDrained = async ({ store, bus, hub, log, now }: Needs): Promise<void> => {
  const stopped = await store.processes.stopDrained(now());
  for (const { id, nodeId, stop } of stopped) {
    bus.publish(`process:${id}`);
    hub.push(nodeId, { type: "stop", id, ...stop });
  }
  if (stopped.length > 0) log.info("node.drain_stopped", { processIds: stopped.map(({ id }) => id) });
};
