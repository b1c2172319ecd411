import type { EnrollBody } from "#shared/api/node.ts";
import { DroverError, type ErrorCode } from "#shared/errors.ts";
import { newId } from "#shared/ids.ts";
import type { Needs } from "../needs.ts";
import type { EnrollOutcome, NodeRow } from "../store/store.ts";
import { sha256Hex } from "#shared/secret-text.ts";

/** How many processes a node runs at once unless its agent says otherwise. */
export const defaultMaxProcesses = 256;

type Refused = Exclude<EnrollOutcome["outcome"], "enrolled" | "repeated">;
const refusals: Record<Refused, [ErrorCode, string]> = {
  bad_token: ["unauthorized", "the join token is not valid"],
  expired: ["unauthorized", "the join token has expired"],
  used_up: ["unauthorized", "the join token has been used up"],
  name_mismatch: ["forbidden", "the join token is for a node of another name"],
  labels_refused: ["forbidden", "the join token does not allow labels of the agent"],
  name_taken: [
    "conflict",
    "a node of this name exists; only a join token made with replace puts a new agent in its place",
  ],
  name_online: [
    "conflict",
    "the node of this name is online: stop its agent before another one takes its place",
  ],
};

/** Makes the node of a join token; the same token and key hash again give the same node. */
export const enrollNode = async (
  needs: Needs,
  body: EnrollBody,
): Promise<{ node: NodeRow; joinTokenId: string; repeated: boolean }> => {
  const result = await needs.store.joinTokens.enroll({
    ...body,
    tokenHash: await sha256Hex(body.joinToken),
    nodeId: newId("node"),
    now: needs.now(),
    defaultMaxProcesses: body.facts.maxProcesses ?? defaultMaxProcesses,
  });
  if (!("node" in result)) {
    const [code, message] = refusals[result.outcome];
    throw new DroverError(code, message);
  }
  needs.bus.publish(`node:${result.node.id}`);
  needs.bus.publish("events");
  needs.log.info("node.enrolled", {
    nodeId: result.node.id,
    name: result.node.name,
    repeated: result.outcome === "repeated",
  });
  const { node, joinTokenId } = result;
  return { node, joinTokenId, repeated: result.outcome === "repeated" };
};
