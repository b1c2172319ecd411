import type { NodeRow } from "../store/store.ts";

/** An agent away for less than this is `unreachable`, then `offline`. */
export const offlineAfterMs = 180_000;

type Signs = Pick<NodeRow, "connectedAt" | "disconnectedAt" | "orderly" | "lastSeenAt">;

/** A node's status from what is remembered of it and whether it has a live socket at this moment. */
export function nodeStatus(node: Signs, now: Date, live: boolean): "online" | "unreachable" | "offline" {
  if (live) return "online";
  // A session that a crash left open has no end yet: then the last sign of life counts.
  const open = node.connectedAt !== null;
  if (node.orderly && !open) return "offline";
  const lastAt = open ? (node.lastSeenAt ?? node.connectedAt) : (node.disconnectedAt ?? node.lastSeenAt);
  if (lastAt === null) return "offline";
  return now.getTime() - lastAt.getTime() < offlineAfterMs ? "unreachable" : "offline";
}
