import type { AgentSocket, KeptSession } from "../../link/socket.ts";

/**
 * The agent's socket as the link sees it. Its attachment is what survives the object's memory: whose socket it is, and
 * from when on its session can be resumed. A socket that was given up keeps nothing, and is closed by whoever finds it.
 */
export type Attachment = { nodeId: string; kept?: KeptSession };

export const attachmentOf = (socket: WebSocket): Attachment | null =>
  socket.deserializeAttachment() as Attachment | null;

const gone = 1001;

/** What an object knows of its sockets. */
export type Sockets = Pick<DurableObjectState, "getWebSocketAutoResponseTimestamp">;

export const objectSocket = (ctx: Sockets, socket: WebSocket, nodeId: string): AgentSocket => {
  const end = (code: number, reason: string): void => {
    socket.serializeAttachment(null);
    if (socket.readyState === WebSocket.OPEN) socket.close(code, reason);
  };
  return {
    send(text) {
      // That it closed is told by onClose.
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: end,
    // The runtime has no harder end: where the far end is gone nothing of this arrives, and nothing is waited for.
    terminate: () => end(gone, ""),
    keep: (kept) => socket.serializeAttachment({ nodeId, kept } satisfies Attachment),
    get answeredAt() {
      return ctx.getWebSocketAutoResponseTimestamp(socket);
    },
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
  };
};
