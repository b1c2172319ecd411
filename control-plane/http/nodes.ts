import * as z from "zod";
import { pageQuery } from "#shared/api/common.ts";
import { listNodesQuery, patchNodeBody } from "#shared/api/node.ts";
import { invalid } from "#shared/errors.ts";
import { isId } from "#shared/ids.ts";
import { deleteNode, patchNode } from "../actions/change-node.ts";
import { findNode } from "../actions/find-node.ts";
import { listNodes } from "../actions/list-nodes.ts";
import { nodeAnswer, nodePage } from "./answers.ts";
import { nodeMaintenanceRoutes } from "./node-maintenance.ts";
import { nodeView } from "./node-view.ts";
import { route, type Route } from "./route.ts";

const list: Route = route({
  method: "get",
  path: "/v1/nodes",
  operationId: "listNodes",
  summary: "List nodes, newest first",
  tag: "nodes",
  query: z.strictObject({ ...listNodesQuery, ...pageQuery }),
  answers: { 200: { description: "One page", schema: nodePage } },
  failures: ["invalid_request"],
  handle: async ({ c, needs, query }) => {
    if (query.cursor !== undefined && !isId("node", query.cursor))
      throw invalid([{ path: "cursor", message: "is not a cursor of this list" }]);
    const { nodes, more } = await listNodes(needs, query);
    return c.json({
      data: nodes.map((node) => nodeView(needs, node)),
      nextCursor: more ? (nodes.at(-1)?.id ?? null) : null,
    });
  },
});

const get: Route = route({
  method: "get",
  path: "/v1/nodes/:node",
  operationId: "getNode",
  summary: "Get a node by id or name",
  tag: "nodes",
  answers: { 200: { description: "The node", schema: nodeAnswer } },
  failures: ["not_found"],
  handle: async ({ c, needs }) => c.json(nodeView(needs, await findNode(needs, c.req.param("node") ?? ""))),
});

const patch: Route = route({
  method: "patch",
  path: "/v1/nodes/:node",
  operationId: "changeNode",
  summary: "Change name, labels or the limit of processes",
  tag: "nodes",
  body: patchNodeBody,
  answers: { 200: { description: "The node", schema: nodeAnswer } },
  failures: ["invalid_request", "not_found", "conflict", "payload_too_large", "unsupported_media_type"],
  handle: async ({ c, needs, body }) =>
    c.json(nodeView(needs, await patchNode(needs, c.req.param("node") ?? "", body))),
});

const remove: Route = route({
  method: "delete",
  path: "/v1/nodes/:node",
  operationId: "deleteNode",
  summary: "Delete a node: its key is void and its socket closes",
  tag: "nodes",
  answers: { 204: { description: "Deleted" } },
  failures: ["not_found"],
  handle: async ({ c, needs }) => {
    const { id, name } = await deleteNode(needs, c.req.param("node") ?? "");
    c.get("trail").note({ node: { id, name } });
    return c.body(null, 204);
  },
});

export const nodeRoutes: Route[] = [list, get, patch, remove, ...nodeMaintenanceRoutes];
