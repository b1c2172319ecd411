import { newId } from "#shared/ids.ts";
import type { LocalBus } from "../bus/bus.ts";
import { SharedClock } from "./clock.ts";
import { createSharedBus, type SharedBus } from "./shared-bus.ts";
import type { Elsewhere } from "../link/elsewhere.ts";
import type { Link } from "../link/link.ts";
import type { Log, Seal } from "../needs.ts";
import type { Store } from "../store/store.ts";
import { Correspondence } from "./elsewhere.ts";
import { Membership } from "./membership.ts";
import { Post } from "./post.ts";
import { SameKey } from "./same-key.ts";
import { Served, type ServedNeeds } from "./served.ts";

/**
 * The control planes that share one database, as one of them sees them. Made in this order: bus, membership and post (`openCluster`);
 * the link, which needs them; then `serve` with the link, from where on others are answered and the dead are buried.
 */
export type Cluster = {
  /** The id of this instance. */
  self: string;
  bus: SharedBus;
  /** The time by which all of them decide. */
  now(): Date;
  elsewhere: Elsewhere;
  /** Joins the others and serves them; `alone`: the database belongs to this process. */
  serve(link: Link, served: Pick<ServedNeeds, "dispatch"> & { alone: boolean }): Promise<void>;
  /** Leaves after the link has closed: what it held is free. */
  close(): Promise<void>;
};

export type ClusterNeeds = {
  store: Store;
  local: LocalBus;
  log: Log;
  seal: Seal;
  place: string;
  version: string;
  /** The clock of this machine. */
  clockMs?: () => number;
};

export function openCluster({ store, local, log, seal, place, version, clockMs }: ClusterNeeds): Cluster {
  const self = newId("inst");
  const clock = new SharedClock(log, clockMs);
  let served: Served | undefined;
  let link: Link | undefined;
  const cut = (isGone: (instance: string) => boolean): void => {
    correspondence.cut(isGone);
    served?.cut(isGone);
  };
  /** Letters may have been lost: the boxes may have been emptied meanwhile. */
  const onGap = (): void => cut(() => true);
  const bus = createSharedBus({
    ...{ local, notices: store.notices, log, self },
    hasPeers: () => membership.hasPeers,
    onSender: (sender) => membership.heardOf(sender),
    onGap,
  });
  const key = new SameKey({ leases: store.leases, seal, log });
  const membership: Membership = new Membership({
    ...{ instances: store.instances, notices: store.notices, bus, clock, key, log },
    self: { id: self, place, version },
    onFreed: (nodeIds) => tellFreed(bus, nodeIds),
    onGone: (instances) => cut((instance) => instances.includes(instance)),
    onSilence: () => {
      onGap();
      local.publishAll();
    },
    onBuried: () => link?.dropAll("this control plane was taken for dead"),
  });
  const post = new Post({ ...{ letters: store.letters, bus, log, self }, onLost: onGap });
  const correspondence = new Correspondence({
    post,
    bus,
    log,
    seal,
    store,
    self,
    newTalk: () => newId("req"),
  });
  post.onLetter((sender, body) => {
    correspondence.hear(sender, body);
    served?.hear(sender, body);
  });
  return {
    self,
    bus,
    now: clock.now,
    elsewhere: correspondence,
    async serve(opened, { dispatch, alone }) {
      link = opened;
      served = new Served({ post, nodes: opened.nodes, log, seal, dispatch });
      await membership.join({ alone });
    },
    async close() {
      cut(() => true);
      await membership.leave();
      post.close();
      await bus.close();
    },
  };
}

function tellFreed(bus: SharedBus, nodeIds: string[]): void {
  for (const nodeId of nodeIds) bus.publish(`node:${nodeId}`);
  bus.publish("events");
}
