import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import { maxFrameBytes } from "#shared/link/limits.ts";
import type { Link as WholeLink } from "../../link/link.ts";
import type { AgentSocket, SocketEvents } from "../../link/socket.ts";
import type { Log } from "../../needs.ts";
import { admitter, refusals, type Refusal } from "../admit-agent.ts";

type Link = Pick<WholeLink, "authorize" | "accept">;

/** Hands sockets of agents to the link: the key is checked before the upgrade, the frame limit is held by `ws` itself (1009). */
export const acceptAgents = (server: Server, link: Link, log: Log): { close(): void } => {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
  });
  const admit = admitter(link, log);
  server.on("upgrade", async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const given = watchWaiting(socket);
    const admitted = await admit({
      path: request.url?.split("?")[0] ?? "",
      authorization: request.headers.authorization,
      isGone: () => socket.destroyed,
    });
    if (admitted === undefined) return;
    if (typeof admitted === "number") return refuse(socket, admitted);
    given();
    sockets.handleUpgrade(request, socket, head, (opened) =>
      connect(opened, { link, nodeId: admitted.nodeId, wire: socket }),
    );
  });
  return { close: () => sockets.close() };
};

// Until `ws` has the socket nobody else hears of its errors, and an unheard one ends the program. An agent says nothing
// before it has its answer, so all that can be read is its end. Answers what to call when `ws` takes it over.
const watchWaiting = (socket: Duplex): (() => void) => {
  const gone = (): void => void socket.destroy();
  socket.on("error", gone).on("end", gone).resume();
  return () => void socket.off("end", gone).off("error", gone);
};

const refuse = (socket: Duplex, status: Refusal): void => {
  const challenge = status === 401 ? "WWW-Authenticate: Bearer\r\n" : "";
  socket.end(
    `HTTP/1.1 ${status} ${refusals[status]}\r\n${challenge}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  );
};

type Accepted = { link: Link; nodeId: string; wire: Duplex };

const connect = (socket: WebSocket, { link, nodeId, wire }: Accepted): void => {
  const events: SocketEvents = link.accept(nodeId, agentSocket(socket, wire));
  socket.on("message", (data: RawData, isBinary: boolean) =>
    isBinary ? events.onBinary() : events.onText(textOf(data)),
  );
  // Every error is followed by `close`.
  socket.on("error", () => {});
  socket.on("close", () => events.onClose());
};

// `ws` gives a Buffer unless it is told to give something else.
const textOf = (data: RawData): string => (data as Buffer).toString();

const agentSocket = (socket: WebSocket, wire: Duplex): AgentSocket => ({
  send(text) {
    // A socket that is closing takes nothing more; that it closed is told by onClose.
    if (socket.readyState !== socket.OPEN) return;
    if (text.length <= shortText && Buffer.byteLength(text) === text.length) wire.write(shortFrame(text));
    else socket.send(text);
  },
  close: (code, reason) => socket.close(code, reason),
  terminate: () => socket.terminate(),
  get bufferedAmount() {
    return socket.bufferedAmount;
  },
});

/** The longest payload whose length stands in the second byte of a frame. */
const shortText = 125;

/**
 * A text frame of RFC 6455 as one piece. `ws` writes header and payload as two, which costs a third of the whole answer to a
 * ping, and an idle fleet does nothing else. Without compression `ws` writes at once, so the order of frames holds.
 */
const shortFrame = (ascii: string): Buffer => {
  const frame = Buffer.allocUnsafe(2 + ascii.length);
  frame[0] = 0x81;
  frame[1] = ascii.length;
  frame.write(ascii, 2, "latin1");
  return frame;
};
