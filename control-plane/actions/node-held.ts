import { DroverError } from "#shared/errors.ts";
import type { Hold } from "#shared/node-hold.ts";

/** What a start, or a lease, is told that a hold keeps off the node: why and until when, never the lease's id. */
export const heldError = (hold: Hold): DroverError => {
  if (hold.by === "lease")
    return new DroverError(
      "node_leased",
      `the node is leased until ${hold.expiresAt.toISOString()}: ${hold.reason}`,
      { reason: hold.reason, expiresAt: hold.expiresAt.toISOString() },
    );
  return new DroverError("node_draining", `the node drains and takes no new processes: ${hold.reason}`, {
    reason: hold.reason,
    deadlineAt: hold.deadlineAt?.toISOString() ?? null,
  });
};
