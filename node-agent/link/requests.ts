import type { RequestFrame } from "#shared/link/frames.ts";
import type { Engine, EngineAnswer } from "../engine.ts";
import { reasonOf, type Log } from "../log.ts";
import type { SelfOnLink } from "./self-on-link.ts";
import type { AgentSocket } from "./socket.ts";

/** Requests being answered on one socket: each gets one reply, unless it is abandoned or the socket ends first. */
export interface Requests {
  take(frame: RequestFrame): void;
  abandon(rid: string): void;
  close(): void;
}

const maxOpen = 1000;
const maxQueuedBytes = 16 * 1024 * 1024;

type RequestNeeds = {
  engine: Engine;
  self: Pick<SelfOnLink, "rotateKey">;
  socket: AgentSocket;
  log: Log;
};

export function createRequests({ engine, self, socket, log }: RequestNeeds): Requests {
  const open = new Map<string, AbortController>();
  const answer = async (frame: RequestFrame, signal: AbortSignal): Promise<EngineAnswer> => {
    if (open.size > maxOpen || socket.queuedBytes() > maxQueuedBytes)
      return unavailable("this node has too many open requests");
    try {
      return await (frame.type === "rotate-key"
        ? self.rotateKey(frame.keyHash)
        : askEngine(engine, frame, signal));
    } catch (error) {
      if (signal.aborted) return unavailable("abandoned");
      const processId = "id" in frame ? frame.id : undefined;
      log.error("request.failed", { kind: frame.type, processId, error: reasonOf(error) });
      return unavailable(`the agent failed to answer: ${reasonOf(error)}`);
    }
  };
  const take = async (frame: RequestFrame): Promise<void> => {
    const controller = new AbortController();
    open.set(frame.rid, controller);
    const answered = await answer(frame, controller.signal);
    if (open.get(frame.rid) === controller) open.delete(frame.rid);
    if (!controller.signal.aborted) socket.send({ type: "reply", rid: frame.rid, ...answered });
  };
  return {
    take: (frame) => void take(frame),
    abandon: (rid) => open.get(rid)?.abort(),
    close: () => {
      for (const controller of open.values()) controller.abort();
    },
  };
}

const unavailable = (message: string): EngineAnswer => ({ error: { code: "unavailable", message } });

type EngineFrame = Exclude<RequestFrame, { type: "rotate-key" }>;

function askEngine(engine: Engine, frame: EngineFrame, signal: AbortSignal): Promise<EngineAnswer> {
  switch (frame.type) {
    case "read":
      return engine.read(frame);
    case "grep":
      return engine.grep(frame, signal);
    case "wait":
      return engine.wait(frame, signal);
    case "signal":
      return engine.signal(frame.id, frame.signal, frame.scope);
    case "stdin":
      return engine.stdin(frame.id, Buffer.from(frame.b64, "base64"), frame.eof);
    case "extend":
      return engine.extend(frame.id, frame.timeoutMs);
    case "ports":
      return engine.ports(frame.id);
    case "recall":
      return engine.recall(frame.ids);
  }
}
