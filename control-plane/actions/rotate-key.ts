import { DroverError } from "#shared/errors.ts";
import { rotateKeyReply } from "#shared/link/frames.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";
import { askNode } from "./ask-node.ts";
import { findNode } from "./find-node.ts";
import { recordEvent } from "./record-event.ts";

/**
 * Replaces the key of a live node; its socket stays. The agent has both keys on disk before it answers, and the new one is
 * taken only while key and session are still those that were asked: so whatever dies in between, the agent has the key that
 * counts. Two rotations at once are one, since the agent answers the same new key until it is in force.
 */
export const rotateKey = async (needs: Needs, idOrName: string): Promise<NodeRow> => {
  const { id, keyHash: from, epoch } = await findNode(needs, idOrName);
  const { keyHash: to } = await askNode(needs, id, {
    frame: { type: "rotate-key", keyHash: from },
    answer: rotateKeyReply,
    field: "node",
  });
  const rotated = await needs.store.nodes.rotateKey(id, { from, to, epoch });
  const node = await findNode(needs, id);
  if (node.keyHash !== to)
    throw new DroverError("unavailable", "the node connected anew meanwhile and keeps its key: try again");
  if (rotated) {
    needs.log.info("node.key_rotated", { nodeId: id });
    const data = { name: node.name, changed: ["key"] };
    await recordEvent(needs, { type: "node.changed", nodeId: id, data });
  }
  return node;
};
