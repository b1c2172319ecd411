import type { Engine } from "../engine.ts";
import type { Follows } from "./follows.ts";
import type { Outbox } from "./outbox.ts";
import type { Requests } from "./requests.ts";
import type { LiveFrame } from "./session.ts";
import type { AgentSocket } from "./socket.ts";

/** What a live socket works with. */
export type LiveRoom = {
  engine: Engine;
  outbox: Outbox;
  socket: AgentSocket;
  requests: Requests;
  follows: Follows;
};

/** Does what one frame of the control plane asks for. */
export function deliver(frame: LiveFrame, { engine, outbox, socket, requests, follows }: LiveRoom): void {
  switch (frame.type) {
    case "pong":
      return;
    case "probe":
      return socket.send({ type: "ping", nonce: frame.nonce });
    case "start":
      return engine.start(frame.launch);
    case "stop":
      return engine.stop(frame.id, { graceMs: frame.graceMs, reason: frame.reason });
    case "acknowledge":
      engine.acknowledged(frame.acks);
      return outbox.acknowledged(frame.acks);
    case "forget":
      engine.forget(frame.ids);
      return outbox.forget(frame.ids);
    case "follow":
      return follows.follow(frame);
    case "unfollow":
      return follows.unfollow(frame.follow);
    case "credit":
      return follows.credit(frame.follow, frame.to);
    case "abandon":
      return requests.abandon(frame.rid);
    case "read":
    case "grep":
    case "wait":
    case "signal":
    case "stdin":
    case "extend":
    case "ports":
    case "recall":
    case "rotate-key":
      return requests.take(frame);
  }
}
