import type { DrainBody } from "#shared/api/node.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";
import { findNode, noSuchNode } from "./find-node.ts";
import { recordEvent } from "./record-event.ts";
import { stopDrained } from "./stop-drained.ts";

/** Nothing new starts on the node, what runs may end, and at the deadline what still lives is stopped. A second drain replaces the first. */
export const drainNode = async (needs: Needs, idOrName: string, drain: DrainBody): Promise<NodeRow> => {
  const { reason, deadlineMs } = drain;
  const deadlineAt = deadlineMs === undefined ? null : new Date(needs.now().getTime() + deadlineMs);
  const node = await setDrain(needs, idOrName, { reason, deadlineAt });
  needs.log.info("node.drain_began", { nodeId: node.id, reason, deadlineAt, running: node.running });
  // Not left to the next tick: whoever gives no time wants it now.
  if (deadlineMs === 0) await stopDrained(needs);
  return node;
};

/** Ends a drain, if there is one; what is queued goes on. */
export const resumeNode = async (needs: Needs, idOrName: string): Promise<NodeRow> => {
  const node = await setDrain(needs, idOrName, null);
  needs.log.info("node.drain_ended", { nodeId: node.id });
  return node;
};

const setDrain = async (
  needs: Needs,
  idOrName: string,
  drain: { reason: string; deadlineAt: Date | null } | null,
): Promise<NodeRow> => {
  const { id } = await findNode(needs, idOrName);
  const node = await needs.store.nodes.setDrain(id, drain);
  if (node === undefined) throw noSuchNode();
  needs.bus.publish(`node:${id}`);
  const data = { name: node.name, changed: ["draining"] };
  await recordEvent(needs, { type: "node.changed", nodeId: id, data });
  return node;
};
