import type { AgentSocket, SocketEvents } from "../../link/socket.ts";
import { admitter, refusals, type Refusal } from "../admit-agent.ts";
import type { Behind } from "../door.ts";
import { deno } from "./runtime.ts";

type Around = Pick<Behind, "link" | "log">;

export const isUpgrade = (request: Request): boolean =>
  request.headers.get("upgrade")?.toLowerCase() === "websocket";

/**
 * Hands sockets of agents to the link: the key is checked before the upgrade. Deno has no limit for a frame below 64 MiB; the link
 * counts every text it gets (1009).
 */
export const agentUpgrades = ({ link, log }: Around): ((request: Request) => Promise<Response>) => {
  const admit = admitter(link, log);
  return async (request) => {
    const admitted = await admit({
      path: new URL(request.url).pathname,
      authorization: request.headers.get("authorization"),
      isGone: () => request.signal.aborted,
    });
    // Nobody is there to read it.
    if (admitted === undefined) return refusal(503);
    return typeof admitted === "number" ? refusal(admitted) : upgrade(request, link, admitted.nodeId);
  };
};

const refusal = (status: Refusal): Response =>
  new Response(null, {
    status,
    statusText: refusals[status],
    headers: status === 401 ? { "www-authenticate": "Bearer" } : {},
  });

const upgrade = (request: Request, link: Around["link"], nodeId: string): Response => {
  try {
    // Silence is the link's business: both ends of it count.
    const { socket, response } = deno.upgradeWebSocket(request, { idleTimeout: 0 });
    socket.addEventListener("open", () => connect(socket, link, nodeId));
    return response;
  } catch {
    // What it lacks for a WebSocket is all that Deno finds fault with here.
    return refusal(400);
  }
};

const connect = (socket: WebSocket, link: Around["link"], nodeId: string): void => {
  const events: SocketEvents = link.accept(
    nodeId,
    agentSocket(socket, () => gone()),
  );
  // Deno may tell the end twice, and tells nothing of a socket that was given up.
  const gone = once(() => events.onClose());
  socket.addEventListener("message", ({ data }: MessageEvent<unknown>) =>
    typeof data === "string" ? events.onText(data) : events.onBinary(),
  );
  // Every error is followed by `close`.
  socket.addEventListener("close", gone);
};

const agentSocket = (socket: WebSocket, gone: () => void): AgentSocket => ({
  send: (text) => socket.send(text),
  close: (code, reason) => socket.close(code, reason),
  // Deno cannot drop a connection. One that is being closed goes with whatever comes from the far end, or when the
  // system gives up on it; the link hears no more of it.
  terminate() {
    socket.close();
    gone();
  },
  get bufferedAmount() {
    return socket.bufferedAmount;
  },
});

const once = (work: () => void): (() => void) => {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
};
