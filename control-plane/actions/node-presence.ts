import type { nodeStatuses } from "#shared/api/node.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";

export type NodeStatus = (typeof nodeStatuses)[number];

/** A node that has gone without saying goodbye counts as unreachable this long, then as offline. */
export const unreachableForMs = 180_000;

/** Online only while a live socket exists at this moment, here or (as its row says) at another instance. */
export const nodeStatus = (needs: Needs, node: NodeRow): NodeStatus => {
  const elsewhere = node.heldBy !== null && node.heldBy !== needs.instance;
  if (elsewhere || needs.hub.here(node.id) !== undefined) return "online";
  if (node.orderly && node.connectedAt === null) return "offline";
  // A session that a crash left open has no end yet: then the last sign of life counts.
  const lastAt =
    node.connectedAt === null
      ? (node.disconnectedAt ?? node.lastSeenAt)
      : (node.lastSeenAt ?? node.connectedAt);
  return lastAt !== null && needs.now().getTime() - lastAt.getTime() < unreachableForMs
    ? "unreachable"
    : "offline";
};
