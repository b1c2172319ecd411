import { confirmWithinMs } from "#shared/link/limits.ts";
import { openFanouts } from "../../actions/get-fanout.ts";
import { createMemoryBus } from "../../bus/memory.ts";
import type { LocalBus, Topic } from "../../bus/bus.ts";
import { Holders } from "../../link/holders.ts";
import { createHub } from "../../link/hub.ts";
import { ownNodes } from "../../link/own-nodes.ts";
import type { Needs } from "../../needs.ts";
import { queueGauge } from "../../queue-gauge.ts";
import { startFanoutDriver } from "../../scheduler/fanout-driver.ts";
import { type TickState, tick } from "../../scheduler/tick.ts";
import { type AskedStops, tellStopsAgain } from "../../scheduler/unheard-stops.ts";
import { type Env, linkOf } from "./env.ts";
import { objects, register, requests } from "./instances.ts";
import { linkObjects } from "./link-objects.ts";
import { restingStore } from "./scope.ts";
import { knownOf } from "./settings.ts";

/**
 * What happens by time, for all nodes of a deployment: the tick of every instance, and what elsewhere the holder of a node does by
 * itself. Objects sleep, so the hub asks them: those with starts that were not confirmed in time to fence them, those of
 * which nothing was heard for a while to look at their sockets.
 */
export type HubWork = {
  local: LocalBus;
  tick(state: TickState): Promise<TickState>;
  /** Has the object of this node look at its row. */
  look(nodeId: string): Promise<void>;
};

/** Loads come every 30 s. */
const unheardMs = 60_000;

export const openHubWork = async (
  env: Env,
  { keep, publish }: { keep(work: Promise<unknown>): void; publish(topic: Topic): void },
): Promise<HubWork> => {
  const { config, seal, log, maxQueued } = await knownOf(env);
  const { store } = restingStore(env);
  const local = createMemoryBus((fault) => log.error("bus.look_failed", { error: fault }));
  const bus = { ...local, publish };
  const link = (nodeId: string) => linkOf(env, nodeId);
  const hub = createHub(ownNodes(new Holders()), linkObjects({ linkOf: link, store, log, keep }), log);
  const queue = queueGauge(store.processes, maxQueued);
  const needs: Needs = {
    ...{ store, bus, hub, seal, queue, config, log, instance: requests, now: () => new Date() },
  };
  let asked: AskedStops = new Map();
  let driver: { stop(): Promise<void> } | undefined;
  // From the first fan-out on that is open; the driver looks for all of them as it starts.
  local.subscribe(openFanouts, () => void (driver ??= startFanoutDriver(needs)));
  const askEach = async (nodeIds: string[], ask: (nodeId: string) => Promise<void>): Promise<void> => {
    const failed = (error: unknown): void => log.warn("link.object_failed", { error });
    await Promise.all([...new Set(nodeIds)].map((nodeId) => ask(nodeId).catch(failed)));
  };
  return {
    local,
    look: (nodeId) => askEach([nodeId], () => link(nodeId).look(nodeId)),
    async tick(state) {
      await register(store);
      // Control planes that used this database before it came to Workers.
      const { nodes: freed } = await store.instances.bury();
      for (const nodeId of freed) publish(`node:${nodeId}`);
      const after = await tick(needs, state);
      asked = await tellStopsAgain({ ...needs, instance: objects }, asked);
      const now = needs.now().getTime();
      const starts = await store.processes.unconfirmed(new Date(now - confirmWithinMs));
      const held = starts.filter(({ heldBy }) => heldBy === objects).map(({ nodeId }) => nodeId);
      await askEach(held, (nodeId) => link(nodeId).fence(nodeId));
      const unheard = await store.nodes.unheard(objects, new Date(now - unheardMs));
      await askEach(unheard, (nodeId) => link(nodeId).look(nodeId));
      return after;
    },
  };
};
