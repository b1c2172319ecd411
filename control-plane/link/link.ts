import { closeCodes } from "#shared/link/limits.ts";
import type { Needs, NodeHub } from "../needs.ts";
import { authorizeAgent } from "./authorize.ts";
import { Holders } from "./holders.ts";
import { createMemoryHub } from "./hub.ts";
import { pause } from "./retry.ts";
import { Session } from "./session.ts";
import type { AgentSocket, SocketEvents } from "./socket.ts";
import { type LinkTimes, linkTimes } from "./times.ts";

/** The server end of all agent sockets of this process. */
export interface Link {
  hub: NodeHub;
  /** The node whose key an upgrade request carries in its Authorization header; undefined: answer 401. */
  authorize(authorization: string | null | undefined): Promise<string | undefined>;
  /** Takes over the socket of an authorized upgrade. */
  accept(nodeId: string, socket: AgentSocket): SocketEvents;
  /** Closes every socket (1001, agents come back by themselves) and waits until the ends are written down. */
  close(): Promise<void>;
}

export function openLink(rest: Omit<Needs, "hub">, times: Partial<LinkTimes> = {}): Link {
  const holders = new Holders();
  const needs: Needs = { ...rest, hub: createMemoryHub(holders) };
  const allTimes = { ...linkTimes, ...times };
  const sessions = new Set<Session>();
  let closed = false;
  return {
    hub: needs.hub,
    authorize: (authorization) => authorizeAgent(needs.store.nodes, authorization),
    accept(nodeId, socket) {
      const session = new Session(nodeId, socket, { needs, holders, times: allTimes });
      sessions.add(session);
      void session.done.then(() => sessions.delete(session));
      if (closed) session.close(closeCodes.goingAway, "the control plane is stopping");
      return session.events;
    },
    async close() {
      closed = true;
      const open = [...sessions];
      for (const session of open) session.close(closeCodes.goingAway, "the control plane is stopping");
      const waited = new AbortController();
      await Promise.race([
        Promise.all(open.map((session) => session.done)),
        pause(allTimes.farewellMs, waited.signal),
      ]);
      waited.abort();
    },
  };
}
