import type { OpenDoor } from "../door.ts";
import { acceptAgents } from "./agent-upgrade.ts";
import { httpServer, listen, stopServer } from "./listen.ts";

/** Node's own HTTP server, with `ws` for agents. */
export const openDoor: OpenDoor = async ({ fetch, link, log }, at) => {
  const server = httpServer(fetch);
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
