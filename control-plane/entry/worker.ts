// The control plane on Cloudflare Workers. A request is an instance that holds no nodes and lives as long as its answer; the socket
// of a node is in the object of the node (link-object.ts), and what happens by time and who waits for what is in the hub
// (hub-object.ts). The order of effects is that of every instance: rows first, then pushes and notices, which are hints.

import { createAppOf } from "../app.ts";
import type { AppEnv } from "../http/route.ts";
import type { Needs } from "../needs.ts";
import { agentUpgrade, isAgentUpgrade } from "./worker/agent-upgrade.ts";
import { type Env, hubOf } from "./worker/env.ts";
import { openScope } from "./worker/scope.ts";
import { type Known, knownOf } from "./worker/settings.ts";
import { unset } from "./worker/unset.ts";

export { HubObject } from "./hub-object.ts";
export { LinkObject } from "./link-object.ts";

/** One for each isolate: to make one costs more than most requests. */
const app = createAppOf((c) => c.env?.needs as Needs);

export default {
  async fetch(request, env, ctx) {
    const known = await knownOf(env).catch(unset);
    return known instanceof Response ? known : answer(request, { env, known, ctx });
  },

  async scheduled(_event, env) {
    await hubOf(env).tick();
  },
} satisfies ExportedHandler<Env>;

type Around = { env: Env; known: Known; ctx: ExecutionContext };

const answer = async (request: Request, { env, known, ctx }: Around): Promise<Response> => {
  const publicUrl = known.config.publicUrl || new URL(request.url).origin;
  const here: Known = { ...known, config: { ...known.config, publicUrl } };
  const scope = openScope(env, here, (work) => ctx.waitUntil(work));
  // Once the client has left, no code after the await where it stands is run, unless that is waited for: what waits ends then,
  // and what was begun is brought to its end, with its entry in the audit.
  request.signal.addEventListener("abort", () => scope.leave());
  const answering = isAgentUpgrade(request)
    ? agentUpgrade(request, env, scope.needs)
    : app.fetch(request, {
        needs: scope.needs,
        // Cloudflare's own word; nobody else can set it.
        address: request.headers.get("cf-connecting-ip") ?? "unknown",
      } satisfies AppEnv["Bindings"]);
  ctx.waitUntil(Promise.resolve(answering).catch(() => {}));
  const response = await answering;
  ctx.waitUntil(scope.settled());
  return response;
};
