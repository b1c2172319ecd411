import { createMemoryBus } from "../../bus/memory.ts";
import { Holders } from "../../link/holders.ts";
import { createHub } from "../../link/hub.ts";
import { ownNodes } from "../../link/own-nodes.ts";
import type { Needs } from "../../needs.ts";
import { queueGauge } from "../../queue-gauge.ts";
import { openPostgresStore } from "../../store/postgres/open.ts";
import { databaseAt } from "../database-socket.ts";
import { type Env, hubOf, linkOf } from "./env.ts";
import { HubBus } from "./hub-bus.ts";
import { beKnown, requests } from "./instances.ts";
import { linkObjects } from "./link-objects.ts";
import { RestingStore } from "./resting-store.ts";
import type { Known } from "./settings.ts";

/**
 * What one request works with. All that does I/O belongs to it alone: a connection or a promise of one request is dead or
 * forbidden in another, so nothing is shared between them but keys and settings.
 */
export type Scope = {
  needs: Needs;
  /** Begins whatever has to happen when the client has left. */
  leave(): void;
  /** Resolves when all that was begun is done. */
  settled(): Promise<void>;
};

/** A connection that nobody asks anything is given back at once: streams live for hours. */
const lingerMs = 250;
/** A Worker may have six connections open at a time. */
const poolSize = 3;

export const restingStore = (env: Env): RestingStore =>
  new RestingStore(
    () => openPostgresStore({ ...databaseAt(env.HYPERDRIVE.connectionString), poolSize, isPooled: true }),
    {
      before: beKnown,
      lingerMs,
    },
  );

export const openScope = (
  env: Env,
  { config, seal, log, maxQueued, provider }: Known,
  keep: (work: Promise<unknown>) => void,
): Scope => {
  const resting = restingStore(env);
  const { store } = resting;
  const local = createMemoryBus((fault) => log.error("bus.look_failed", { error: fault }));
  const bus = new HubBus({ local, hub: hubOf(env), log, keep });
  const elsewhere = linkObjects({ linkOf: (nodeId) => linkOf(env, nodeId), store, log, keep });
  const hub = createHub(ownNodes(new Holders()), elsewhere, log);
  const queue = queueGauge(store.processes, maxQueued);
  return {
    needs: { store, bus, hub, seal, queue, provider, config, log, instance: requests, now: () => new Date() },
    leave: () => bus.close(),
    settled: () => resting.settled(),
  };
};
