import { listenBacklog, type OpenDoor } from "../door.ts";
import { listenError } from "../listen-error.ts";
import { agentUpgrades, isUpgrade } from "./agents.ts";
import { deno } from "./runtime.ts";

/** `Deno.serve` with its own WebSockets. */
export const openDoor: OpenDoor = async ({ fetch, link, log }, at) => {
  const cut = new AbortController();
  const upgrade = agentUpgrades({ link, log });
  const options = {
    hostname: at.host,
    port: at.port,
    tcpBacklog: listenBacklog,
    signal: cut.signal,
    onListen: () => {},
    // The app answers its failures itself.
    onError: (error: unknown) => {
      log.error("request.failed", { error });
      return new Response(null, { status: 500 });
    },
  };
  const server = listening(at, () =>
    deno.serve(options, (request) => (isUpgrade(request) ? upgrade(request) : fetch(request))),
  );
  return {
    port: server.addr.port,
    async close(graceMs) {
      const late = setTimeout(() => cut.abort(), graceMs);
      await server.shutdown();
      clearTimeout(late);
    },
  };
};

const listening = <T>(at: { host: string; port: number }, serve: () => T): T => {
  try {
    return serve();
  } catch (error) {
    throw error instanceof Error ? listenError(error, at) : error;
  }
};
