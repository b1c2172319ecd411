import { downFrame, type DownFrame, type Hello } from "#shared/link/frames.ts";
import { openSocket, type AgentSocket, type LinkTimes, type SocketEnd } from "./socket.ts";

/**
 * The life of one socket: open → `hello` → `welcome` → live → ended.
 *
 * Before `welcome` no other frame is valid, and after it no second one. A frame that is not valid closes the socket
 * with 1008; what had to be said is said again on the next one.
 */
export type Welcome = Extract<DownFrame, { type: "welcome" }>;
export type LiveFrame = Exclude<DownFrame, Welcome>;

type SessionNeeds = {
  url: string;
  authorization: string;
  times: LinkTimes;
  hello: () => Hello;
  onLive: (socket: AgentSocket, welcome: Welcome) => void;
  onFrame: (frame: LiveFrame) => void;
  onEnd: (end: SocketEnd) => void;
};

/** Opens a socket and greets; frames come by `onFrame` once it is live. */
export function openSession({
  url,
  authorization,
  times,
  hello,
  onLive,
  onFrame,
  onEnd,
}: SessionNeeds): AgentSocket {
  let isLive = false;
  let isRefused = false;
  const refuse = (reason: string): void => {
    isRefused = true;
    socket.close(1008, reason);
  };
  const take = (frame: DownFrame): void => {
    if (frame.type !== "welcome") return isLive ? onFrame(frame) : refuse(`${frame.type} before welcome`);
    if (isLive) return refuse("a second welcome");
    isLive = true;
    onLive(socket, frame);
  };
  const socket: AgentSocket = openSocket({
    url,
    authorization,
    times,
    onEnd,
    onOpen: () => socket.send(hello()),
    onText: (text) => {
      if (isRefused) return;
      const frame = parseFrame(text);
      if ("error" in frame) refuse(frame.error);
      else take(frame.frame);
    },
  });
  return socket;
}

function parseFrame(text: string): { frame: DownFrame } | { error: string } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { error: "not JSON" };
  }
  const parsed = downFrame.safeParse(json);
  if (parsed.success) return { frame: parsed.data };
  const issue = parsed.error.issues[0];
  // A close reason holds 123 bytes at most.
  return {
    error: `invalid frame: ${issue?.path.join(".")} ${issue?.message}`.replace(/[^ -~]/g, "?").slice(0, 120),
  };
}
