import { clientAddress, trustedProxies } from "../client-address.ts";
import type { OpenDoor } from "../door.ts";
import { acceptAgents } from "./agent-upgrade.ts";
import { httpServer, listen, stopServer } from "./listen.ts";

/** Node's own HTTP server, with `ws` for agents. */
export const openDoor: OpenDoor = async ({ fetch, link, log }, at) => {
  const trusted = at.trustedProxies === undefined ? undefined : trustedProxies(at.trustedProxies);
  const server = httpServer(fetch, (request) =>
    clientAddress(request.socket.remoteAddress, request.headers["x-forwarded-for"]?.toString(), trusted),
  );
  const agents = acceptAgents(server, link, log);
  const port = await listen(server, at);
  return {
    port,
    async close(graceMs) {
      await stopServer(server, graceMs);
      agents.close();
    },
  };
};
