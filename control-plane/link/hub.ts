import type { Log, NodeHub } from "../needs.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { OwnNodes } from "./own-nodes.ts";

/** All nodes: those of this process at once, the others by way of the instance that has their socket. */
export function createHub(own: OwnNodes, elsewhere: Elsewhere, log: Log): NodeHub {
  const hint = (sent: Promise<unknown>): void => {
    // What was asked for is a row too: the holder finds it when it looks next.
    sent.catch((error: unknown) => log.warn("hub.hint_lost", { error }));
  };
  const isHere = (nodeId: string): boolean => own.here(nodeId) !== undefined;
  return {
    ...own,
    async online(nodeId) {
      return isHere(nodeId) || (await elsewhere.held([nodeId])).size > 0;
    },
    async onlineAmong(nodeIds) {
      const away = nodeIds.filter((nodeId) => !isHere(nodeId));
      const held = away.length === 0 ? new Set<string>() : await elsewhere.held(away);
      return new Set(nodeIds.filter((nodeId) => isHere(nodeId) || held.has(nodeId)));
    },
    push(nodeId, frame) {
      if (!own.push(nodeId, frame)) hint(elsewhere.push(nodeId, frame));
    },
    dispatchElsewhere: (nodeId, start) => elsewhere.dispatch(nodeId, start),
    request: (nodeId, frame, limit) =>
      isHere(nodeId) ? own.request(nodeId, frame, limit) : elsewhere.request(nodeId, frame, limit),
    follow: (nodeId, what, signal) =>
      isHere(nodeId) ? own.follow(nodeId, what, signal) : elsewhere.follow(nodeId, what, signal),
  };
}
