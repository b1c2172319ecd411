import type { LeaseBody } from "#shared/api/node.ts";
import { DroverError } from "#shared/errors.ts";
import { leaseOf } from "#shared/node-hold.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";
import { findNode, noSuchNode } from "./find-node.ts";
import { heldError } from "./node-held.ts";
import { recordEvent } from "./record-event.ts";

export type Lease = { id: string; expiresAt: Date; renewed: boolean };

/** Leases a node under `leaseId`, or renews the lease `heldId`; `node_leased` while somebody else has it. */
export const leaseNode = async (
  needs: Needs,
  idOrName: string,
  lease: LeaseBody & { leaseId: string; heldId: string | undefined },
): Promise<Lease> => {
  const { id } = await findNode(needs, idOrName);
  const now = needs.now();
  const { leaseId, heldId, reason } = lease;
  const expiresAt = new Date(now.getTime() + lease.ttlMs);
  const taken = await needs.store.nodes.lease(id, { leaseId, heldId, reason, expiresAt, now });
  if (taken === undefined) throw noSuchNode();
  if (taken.outcome === "taken") throw leasedToOther(taken.node, now);
  await tellOfLease(needs, taken.node);
  needs.log.info("node.leased", { nodeId: id, reason, expiresAt, outcome: taken.outcome });
  const renewed = taken.outcome === "renewed";
  return { id: renewed && heldId !== undefined ? heldId : leaseId, expiresAt, renewed };
};

/** The lease of this id, made before; `not_found` when it is over. */
export const findLease = async (needs: Needs, idOrName: string, leaseId: string): Promise<Lease> => {
  const node = await findNode(needs, idOrName);
  const lasting = leaseOf(node, needs.now());
  if (lasting === undefined || node.leaseId !== leaseId)
    throw new DroverError("not_found", "the lease of this Idempotency-Key is over");
  return { id: leaseId, expiresAt: lasting.expiresAt, renewed: false };
};

/**
 * Ends the lease of a node. Without an id any lease is broken, which is an admin's right; with one only that lease,
 * so that whoever lost it meanwhile does not end the next one's.
 */
export const releaseNode = async (
  needs: Needs,
  idOrName: string,
  heldId: string | undefined,
): Promise<void> => {
  const { id } = await findNode(needs, idOrName);
  const now = needs.now();
  const released = await needs.store.nodes.release(id, { heldId, now });
  if (released === undefined) throw noSuchNode();
  if (released.outcome === "other") throw leasedToOther(released.node, now);
  await tellOfLease(needs, released.node);
  needs.log.info("node.released", { nodeId: id, broken: heldId === undefined });
};

const tellOfLease = async (needs: Needs, { id, name }: NodeRow): Promise<void> => {
  needs.bus.publish(`node:${id}`);
  await recordEvent(needs, { type: "node.changed", nodeId: id, data: { name, changed: ["lease"] } });
};

// It may have ended between the statement that found it and the look at it: then there is no more to tell.
const leasedToOther = (node: NodeRow, now: Date): DroverError => {
  const hold = leaseOf(node, now);
  return hold === undefined
    ? new DroverError("node_leased", "the node was leased to somebody else a moment ago: try again")
    : heldError(hold);
};
