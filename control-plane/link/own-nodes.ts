import type { NodeHub } from "../needs.ts";
import type { Holders } from "./holders.ts";

/** The nodes whose sockets are in this process. */
export type OwnNodes = Pick<
  NodeHub,
  "here" | "sign" | "start" | "free" | "inTurn" | "confirmed" | "sentAt" | "request" | "follow" | "disconnect"
> & {
  push(...args: Parameters<NodeHub["push"]>): boolean;
  answersProbe(nodeId: string): Promise<boolean>;
};

export function ownNodes(holders: Holders): OwnNodes {
  const node = (nodeId: string) => holders.of(nodeId)?.node;
  return {
    here: (idOrName) => (holders.of(idOrName) === undefined ? holders.named(idOrName) : idOrName),
    sign: (nodeId) => node(nodeId)?.sign,
    push: (nodeId, frame) => node(nodeId)?.send(frame) ?? false,
    start: (nodeId, launch) => node(nodeId)?.start(launch) ?? false,
    free: (nodeId) => node(nodeId)?.free() ?? 0,
    inTurn: (nodeId, round) => node(nodeId)?.inTurn(round) ?? Promise.resolve(),
    confirmed: (nodeId, processId) => node(nodeId)?.confirmed(processId) ?? false,
    sentAt: (nodeId, processId) => node(nodeId)?.alive.sentAt(processId),
    request: (nodeId, frame, limit) =>
      node(nodeId)?.requests.ask(frame, limit) ?? Promise.resolve({ outcome: "offline" }),
    follow: (nodeId, what, signal) => node(nodeId)?.follows.follow(what, signal) ?? nothing(),
    disconnect: (nodeId, code, reason) => holders.of(nodeId)?.session.close(code, reason),
    answersProbe: (nodeId) => holders.of(nodeId)?.session.answersProbe() ?? Promise.resolve(false),
  };
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}
