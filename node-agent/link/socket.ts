import { WebSocket } from "ws";
import type { UpFrame } from "#shared/link/frames.ts";
import { controlPlaneSilenceMs, maxFrameBytes, pingEveryMs } from "#shared/link/limits.ts";

/** How a socket ended: its close code (1006 without a close frame), the HTTP status where no socket came about, and what went wrong. */
export type SocketEnd = {
  code: number;
  reason: string;
  httpStatus: number | undefined;
  error: string | undefined;
};

export type LinkTimes = { pingEveryMs: number; silenceMs: number; handshakeMs: number };
export const linkTimes: LinkTimes = {
  pingEveryMs,
  silenceMs: controlPlaneSilenceMs,
  handshakeMs: 10_000,
};

type SocketNeeds = {
  url: string;
  authorization: string;
  times: LinkTimes;
  onOpen: () => void;
  onText: (text: string) => void;
  /** Called once, last. */
  onEnd: (end: SocketEnd) => void;
};

export interface AgentSocket {
  send(frame: UpFrame): void;
  /** Sends a frame that is text already. */
  sendText(text: string): void;
  queuedBytes(): number;
  /** Calls back once, when no more than `bytes` are queued. */
  whenBelow(bytes: number, callback: () => void): void;
  /** Says goodbye politely; the end comes within a second. */
  close(code: number, reason: string): void;
}

const closeWithinMs = 1000;

/** The address of the agents' socket below a control plane's. */
export const linkAddress = (url: string): string => `${url.replace(/^http/, "ws")}/v1/agent`;

/** Opens one socket that pings when nothing else is said, and that ends by itself when nothing was heard for too long. */
export function openSocket({ url, authorization, times, onOpen, onText, onEnd }: SocketNeeds): AgentSocket {
  const end: SocketEnd = { code: 1006, reason: "", httpStatus: undefined, error: undefined };
  const socket = new WebSocket(linkAddress(url), {
    headers: { authorization },
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
    handshakeTimeout: times.handshakeMs,
    followRedirects: false,
    // A mask protects broken proxies from a browser's script that writes what it likes on the wire. All that an agent writes
    // is JSON of its own making with output as base64, and masking was two thirds of the cost of following a flood.
    generateMask: (mask) => void mask.fill(0),
  });
  const waiting: { bytes: number; callback: () => void }[] = [];

  // The other side may be gone without a word: a polite close would wait for its answer.
  const silence = setTimeout(() => {
    end.error ??= `heard nothing for ${times.silenceMs / 1000} s`;
    socket.terminate();
  }, times.silenceMs);
  const pings = setInterval(() => send({ type: "ping" }), times.pingEveryMs);

  const sent = (): void => {
    const ready = waiting.filter(({ bytes }) => socket.bufferedAmount <= bytes);
    for (const waiter of ready) waiting.splice(waiting.indexOf(waiter), 1);
    for (const { callback } of ready) callback();
  };
  const sendText = (text: string): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    pings.refresh();
    socket.send(text, sent);
  };
  const send = (frame: UpFrame): void => sendText(JSON.stringify(frame));

  socket.on("open", onOpen);
  socket.on("message", (data: Buffer, isBinary) => {
    silence.refresh();
    if (isBinary) socket.close(1008, "binary frames are not spoken here");
    else onText(data.toString("utf8"));
  });
  socket.on("unexpected-response", (_request, response) => {
    end.httpStatus = response.statusCode;
    socket.terminate();
  });
  socket.on("error", (error) => {
    end.error ??= error.message || (error as NodeJS.ErrnoException).code;
  });
  socket.on("close", (code, reason) => {
    clearTimeout(silence);
    clearInterval(pings);
    onEnd({ ...end, code, reason: reason.toString("utf8") });
  });

  return {
    send,
    sendText,
    queuedBytes: () => socket.bufferedAmount,
    whenBelow: (bytes, callback) => {
      if (socket.bufferedAmount <= bytes) setImmediate(callback);
      else waiting.push({ bytes, callback });
    },
    close: (code, reason) => {
      socket.close(code, reason);
      setTimeout(() => socket.terminate(), closeWithinMs).unref();
    },
  };
}
