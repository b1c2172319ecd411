import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import { maxFrameBytes } from "#shared/link/limits.ts";
import type { Link } from "../link/link.ts";
import type { AgentSocket, SocketEvents } from "../link/socket.ts";
import type { Log } from "../needs.ts";

/** Hands sockets of agents to the link: the key is checked before the upgrade, the frame limit is held by `ws` itself (1009). */
export const acceptAgents = (server: Server, link: Link, log: Log): { close(): void } => {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Until `ws` has it, nobody else hears of an error of the socket, and an unheard error ends the program.
    const onError = (): void => void socket.destroy();
    socket.on("error", onError);
    admit(request, link, log).then(
      (admitted) => {
        if (typeof admitted === "number") return refuse(socket, admitted);
        socket.off("error", onError);
        sockets.handleUpgrade(request, socket, head, (opened) => connect(opened, link, admitted.nodeId));
      },
      (error: unknown) => {
        log.error("upgrade.failed", { error });
        refuse(socket, 500);
      },
    );
  });
  return { close: () => sockets.close() };
};

const admit = async (
  request: IncomingMessage,
  link: Link,
  log: Log,
): Promise<{ nodeId: string } | 401 | 404 | 503> => {
  if (request.url?.split("?")[0] !== "/v1/agent") return 404;
  try {
    const nodeId = await link.authorize(request.headers.authorization);
    return nodeId === undefined ? 401 : { nodeId };
  } catch (error) {
    log.warn("upgrade.unavailable", { error });
    return 503;
  }
};

const refusals = {
  401: "Unauthorized",
  404: "Not Found",
  500: "Internal Server Error",
  503: "Service Unavailable",
} as const;

const refuse = (socket: Duplex, status: keyof typeof refusals): void => {
  const challenge = status === 401 ? "WWW-Authenticate: Bearer\r\n" : "";
  socket.end(
    `HTTP/1.1 ${status} ${refusals[status]}\r\n${challenge}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  );
};

const connect = (socket: WebSocket, link: Link, nodeId: string): void => {
  const events: SocketEvents = link.accept(nodeId, agentSocket(socket));
  socket.on("message", (data: RawData, isBinary: boolean) =>
    isBinary ? events.onBinary() : events.onText(textOf(data)),
  );
  // Every error is followed by `close`.
  socket.on("error", () => {});
  socket.on("close", () => events.onClose());
};

const textOf = (data: RawData): string =>
  Array.isArray(data) ? Buffer.concat(data).toString() : Buffer.from(data as Buffer).toString();

const agentSocket = (socket: WebSocket): AgentSocket => ({
  send(text) {
    // A socket that is closing takes nothing more; that it closed is told by onClose.
    if (socket.readyState === socket.OPEN) socket.send(text);
  },
  close: (code, reason) => socket.close(code, reason),
  terminate: () => socket.terminate(),
  get bufferedAmount() {
    return socket.bufferedAmount;
  },
});
