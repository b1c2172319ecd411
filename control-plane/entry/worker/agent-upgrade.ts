import { sha256Hex } from "#shared/secret-text.ts";
import { authorizeAgent } from "../../link/authorize.ts";
import type { Needs } from "../../needs.ts";
import { type Env, linkStub } from "./env.ts";

/** The id of the node whose key was checked, from the Worker to the object: nobody else can reach an object. */
export const nodeHeader = "x-drover-node";

export const isAgentUpgrade = (request: Request): boolean =>
  request.headers.get("upgrade")?.toLowerCase() === "websocket";

/** Checks the key of an agent before its request reaches the object of the node, so that nobody else wakes one. */
export const agentUpgrade = async (
  request: Request,
  env: Env,
  { store, log }: Pick<Needs, "store" | "log">,
): Promise<Response> => {
  if (new URL(request.url).pathname !== "/v1/agent") return new Response(null, { status: 404 });
  try {
    const nodeId = await authorizeAgent(
      { nodes: store.nodes, sha256Hex },
      request.headers.get("authorization"),
    );
    if (nodeId === undefined)
      return new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
    return await linkStub(env, nodeId).fetch(forNode(request, nodeId));
  } catch (error) {
    log.warn("upgrade.unavailable", { error });
    return new Response(null, { status: 503 });
  }
};

const forNode = (request: Request, nodeId: string): Request => {
  const headers = new Headers(request.headers);
  headers.set(nodeHeader, nodeId);
  headers.delete("authorization");
  return new Request(request.url, { headers });
};
