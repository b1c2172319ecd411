import type { NodeHub } from "../needs.ts";
import type { Holders } from "./holders.ts";

/** The hub of one process: every node's session is here or nowhere. */
export function createMemoryHub(holders: Holders): NodeHub {
  const node = (nodeId: string) => holders.of(nodeId)?.node;
  return {
    online: (nodeId) => holders.of(nodeId) !== undefined,
    named: (name) => holders.named(name),
    load: (nodeId) => node(nodeId)?.sign,
    push: (nodeId, frame) => node(nodeId)?.send(frame) ?? false,
    start: (nodeId, launch) => node(nodeId)?.start(launch) ?? false,
    free: (nodeId) => node(nodeId)?.free() ?? 0,
    confirmed: (nodeId, processId) => holders.aliveOn(nodeId)?.confirmed(processId) ?? false,
    sentAt: (nodeId, processId) => node(nodeId)?.alive.sentAt(processId),
    request: (nodeId, frame, limit) =>
      node(nodeId)?.requests.ask(frame, limit) ?? Promise.resolve({ outcome: "offline" }),
    follow: (nodeId, what, signal) => node(nodeId)?.follows.follow(what, signal) ?? nothing(),
    disconnect: (nodeId, code, reason) => holders.of(nodeId)?.session.close(code, reason),
  };
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}
