import { unreachableForMs } from "../actions/node-presence.ts";
import type { Needs } from "../needs.ts";

const batch = 1000;

/** Nodes that went without goodbye are offline once their time as unreachable has passed. */
export async function settleOffline(needs: Needs): Promise<void> {
  const { store, bus, log } = needs;
  const now = needs.now();
  const offline = await store.nodes.settleOffline({
    before: new Date(now.getTime() - unreachableForMs),
    now,
  });
  if (offline.length === 0) return;
  for (const id of offline) bus.publish(`node:${id}`);
  bus.publish("events");
  log.info("node.offline", { nodeIds: offline });
}

/** What ran on nodes that have been away for so long that nobody expects them back is lost; should one come back, its reports win. */
export async function loseOnGone(needs: Needs): Promise<void> {
  const { store, bus, config, log } = needs;
  const now = needs.now();
  const before = new Date(now.getTime() - config.nodeGoneMs);
  for (;;) {
    const lost = await store.nodes.loseOnGone({ before, now, limit: batch });
    for (const id of lost) bus.publish(`process:${id}`);
    if (lost.length > 0) log.warn("process.node_gone", { processIds: lost });
    if (lost.length < batch) return;
  }
}
