import type { z } from "zod";
import type { patchNodeBody } from "#shared/api/node.ts";
import { DroverError } from "#shared/errors.ts";
import { closeCodes } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";
import { findNode, noSuchNode } from "./find-node.ts";
import { recordEvent } from "./record-event.ts";

/** Changes name, labels or the limit of processes; a name in use is `conflict`. */
export const patchNode = async (
  needs: Needs,
  idOrName: string,
  change: z.output<typeof patchNodeBody>,
): Promise<NodeRow> => {
  const node = await findNode(needs, idOrName);
  const changed = await needs.store.nodes.patch(node.id, change);
  if (changed === "taken") throw new DroverError("conflict", "another node has this name");
  if (changed === undefined) throw noSuchNode();
  needs.bus.publish(`node:${node.id}`);
  const data = { name: changed.name, changed: Object.keys(change) };
  await recordEvent(needs, { type: "node.changed", nodeId: node.id, data });
  return changed;
};

/** Deletes a node: its key is void, its socket closes, its unfinished processes are lost. Answers what it was. */
export const deleteNode = async (needs: Needs, idOrName: string): Promise<NodeRow> => {
  const node = await findNode(needs, idOrName);
  const unfinished = await needs.store.processes.unfinished(node.id);
  await needs.store.nodes.delete(node.id, needs.now());
  needs.hub.disconnect(node.id, closeCodes.revoked, "the node was deleted");
  needs.bus.publish(`node:${node.id}`);
  needs.bus.publish("events");
  for (const process of unfinished) needs.bus.publish(`process:${process.id}`);
  needs.log.info("node.deleted", { nodeId: node.id, name: node.name, unfinished: unfinished.length });
  return node;
};
