import { drainBody, leaseBody, leaseHeader, leaseView } from "#shared/api/node.ts";
import { newSecret } from "#shared/secret-text.ts";
import { drainNode, resumeNode } from "../actions/drain-node.ts";
import { findLease, leaseNode, releaseNode } from "../actions/lease-node.ts";
import { rotateKey } from "../actions/rotate-key.ts";
import { nodeAnswer } from "./answers.ts";
import { once } from "./idempotency.ts";
import { nodeView } from "./node-view.ts";
import { route, type Call, type Route } from "./route.ts";

const oversized = ["payload_too_large", "unsupported_media_type"] as const;

type AnyCall = Pick<Call<unknown, unknown>, "c">;
const nodeOf = ({ c }: AnyCall): string => c.req.param("node") ?? "";
const leaseNamedBy = ({ c }: AnyCall): string | undefined => c.req.header(leaseHeader);

const drain: Route = route({
  method: "post",
  path: "/v1/nodes/:node/drain",
  operationId: "drainNode",
  summary: "Take no new starts, let what runs end, and at the deadline stop what still lives",
  tag: "nodes",
  body: drainBody,
  answers: { 200: { description: "The node", schema: nodeAnswer } },
  failures: ["invalid_request", "not_found", ...oversized],
  handle: async (call) =>
    call.c.json(nodeView(call.needs, await drainNode(call.needs, nodeOf(call), call.body))),
});

const resume: Route = route({
  method: "post",
  path: "/v1/nodes/:node/resume",
  operationId: "resumeNode",
  summary: "End a drain: starts are taken again, and what is queued goes on",
  tag: "nodes",
  answers: { 200: { description: "The node", schema: nodeAnswer } },
  failures: ["not_found"],
  handle: async (call) => call.c.json(nodeView(call.needs, await resumeNode(call.needs, nodeOf(call)))),
});

const lease: Route = route({
  method: "post",
  path: "/v1/nodes/:node/lease",
  operationId: "leaseNode",
  summary: `Lease a node for maintenance: it takes only starts with the header ${leaseHeader}; with that header the lease is renewed`,
  tag: "nodes",
  body: leaseBody,
  answers: {
    201: { description: "Leased", schema: leaseView },
    200: { description: "Renewed: the same lease, with a new end and reason", schema: leaseView },
  },
  failures: ["invalid_request", "not_found", "node_leased", "idempotency_mismatch", ...oversized],
  handle: async (call) => {
    const { c, needs, body } = call;
    const leaseId = newSecret("lease");
    const heldId = leaseNamedBy(call);
    const made = await once(call, leaseId, () =>
      leaseNode(needs, nodeOf(call), { ...body, leaseId, heldId }),
    );
    const { id, expiresAt, renewed } = made.replayed
      ? await findLease(needs, nodeOf(call), made.id)
      : made.made;
    return c.json({ leaseId: id, expiresAt: expiresAt.toISOString() }, renewed ? 200 : 201);
  },
});

const release: Route = route({
  method: "delete",
  path: "/v1/nodes/:node/lease",
  operationId: "releaseNode",
  summary: `End the lease of a node; with the header ${leaseHeader} only if it is that one`,
  tag: "nodes",
  answers: { 204: { description: "Not leased (any more)" } },
  failures: ["not_found", "node_leased"],
  handle: async (call) => {
    await releaseNode(call.needs, nodeOf(call), leaseNamedBy(call));
    return call.c.body(null, 204);
  },
});

const rotate: Route = route({
  method: "post",
  path: "/v1/nodes/:node/rotate-key",
  operationId: "rotateNodeKey",
  summary: "Replace the key of a node that is online; its socket stays, the old key is void",
  tag: "nodes",
  answers: { 200: { description: "The node", schema: nodeAnswer } },
  failures: ["not_found", "node_offline", "unavailable"],
  handle: async (call) => call.c.json(nodeView(call.needs, await rotateKey(call.needs, nodeOf(call)))),
});

export const nodeMaintenanceRoutes: Route[] = [drain, resume, lease, release, rotate];
