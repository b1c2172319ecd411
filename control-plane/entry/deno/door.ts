import { pause } from "#shared/pause.ts";
import { listenBacklog, type OpenDoor } from "../door.ts";
import { listenError } from "../listen-error.ts";
import { agentUpgrades, isUpgrade } from "./agents.ts";
import { deno } from "./runtime.ts";

/** `Deno.serve` with its own WebSockets. */
export const openDoor: OpenDoor = async ({ fetch, link, log }, at) => {
  const upgrade = agentUpgrades({ link, log });
  const options = {
    hostname: at.host,
    port: at.port,
    tcpBacklog: listenBacklog,
    onListen: () => {},
    // The app answers its failures itself.
    onError: (error: unknown) => {
      log.error("request.failed", { error });
      return new Response(null, { status: 500 });
    },
  };
  const server = listening(at, () =>
    deno.serve(options, (request, { remoteAddr }) =>
      isUpgrade(request) ? upgrade(request) : fetch(request, { address: remoteAddr.hostname }),
    ),
  );
  return {
    port: server.addr.port,
    async close(graceMs) {
      // What does not end ends with the program: Deno can cut connections, but not once it has begun to shut down.
      const late = new AbortController();
      await Promise.race([server.shutdown(), pause(graceMs, late.signal)]);
      late.abort();
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
