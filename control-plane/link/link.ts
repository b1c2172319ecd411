import { sha256Hex as subtleSha256Hex } from "#shared/secret-text.ts";
import { closeCodes } from "#shared/link/limits.ts";
import { pause } from "#shared/pause.ts";
import type { Needs, NodeHub } from "../needs.ts";
import { authorizeAgent, type Sha256Hex } from "./authorize.ts";
import { Holders } from "./holders.ts";
import { type Elsewhere, nowhereElse } from "./elsewhere.ts";
import { createHub } from "./hub.ts";
import { type OwnNodes, ownNodes } from "./own-nodes.ts";
import { reportWriter } from "./report-writer.ts";
import { Session } from "./session.ts";
import { Signs } from "./signs.ts";
import { whatIsKept } from "./kept.ts";
import type { AgentSocket, KeptSession, SocketEvents } from "./socket.ts";
import { type LinkTimes, linkTimes } from "./times.ts";

/** The server end of all agent sockets of this process. */
export interface Link {
  hub: NodeHub;
  /** Only the nodes whose sockets are here. */
  nodes: OwnNodes;
  /** The node whose key an upgrade request carries in its Authorization header; undefined: answer 401. */
  authorize(authorization: string | null | undefined): Promise<string | undefined>;
  /** Takes over the socket of an authorized upgrade. */
  accept(nodeId: string, socket: AgentSocket): SocketEvents;
  /**
   * Takes over the socket of a session whose memory was taken, out of what it had kept; undefined when the node is deleted
   * or held by a newer session, or the database does not answer for a while, and the socket is closed.
   */
  resume(nodeId: string, socket: AgentSocket, kept: KeptSession): Promise<SocketEvents | undefined>;
  /** Writes down what only the sessions know, so that their memory may be taken. */
  rest(): Promise<void>;
  /** Closes every socket, so that its agent connects anew: this instance no longer holds the nodes. */
  dropAll(reason: string): void;
  /** Closes every socket (1001, agents come back by themselves) and waits until the ends are written down. */
  close(): Promise<void>;
}

export type LinkOptions = {
  times?: Partial<LinkTimes>;
  /** The nodes of other instances; without it this is the only one. */
  elsewhere?: Elsewhere;
  sha256Hex?: Sha256Hex;
};

export function openLink(
  rest: Omit<Needs, "hub">,
  { times, elsewhere = nowhereElse, sha256Hex = subtleSha256Hex }: LinkOptions = {},
): Link {
  const holders = new Holders();
  const nodes = ownNodes(holders);
  const needs: Needs = { ...rest, hub: createHub(nodes, elsewhere, rest.log) };
  const allTimes = { ...linkTimes, ...times };
  const write = reportWriter({
    takeReports: (reports) => needs.store.processes.takeReports(reports),
    log: needs.log,
  });
  const signs = new Signs({
    write: (all) => needs.store.nodes.seen(all),
    everyMs: allTimes.seenEveryMs,
    onFailure: (error) => needs.log.warn("nodes.signs_not_stored", { error }),
  });
  const around = { needs, holders, elsewhere, write, signs, times: allTimes };
  const sessions = new Set<Session>();
  let closed = false;
  const open = (nodeId: string, socket: AgentSocket): Session => {
    const session = new Session(nodeId, socket, around);
    sessions.add(session);
    void session.done.then(() => sessions.delete(session));
    if (closed) session.close(closeCodes.goingAway, "the control plane is stopping");
    return session;
  };
  return {
    hub: needs.hub,
    nodes,
    authorize: (authorization) => authorizeAgent({ nodes: needs.store.nodes, sha256Hex }, authorization),
    accept: (nodeId, socket) => open(nodeId, socket).events,
    async resume(nodeId, socket, kept) {
      const found = await whatIsKept({ needs, times: allTimes }, nodeId, kept);
      if (typeof found === "number") {
        socket.close(found, "");
        return undefined;
      }
      const session = open(nodeId, socket);
      session.inBackground(session.resume(kept, found.admission, found.rows));
      return session.events;
    },
    async rest() {
      for (const session of sessions) await session.rest();
    },
    dropAll(reason) {
      for (const session of sessions) session.close(closeCodes.goingAway, reason);
    },
    async close() {
      closed = true;
      await farewell([...sessions], signs, allTimes.farewellMs);
    },
  };
}

/** Sends all away, and waits for a while until their ends are written down. */
async function farewell(sessions: Session[], signs: Signs, withinMs: number): Promise<void> {
  for (const session of sessions) session.close(closeCodes.goingAway, "the control plane is stopping");
  const waited = new AbortController();
  await Promise.race([
    Promise.all(sessions.map((session) => session.done)).then(() => signs.close()),
    pause(withinMs, waited.signal),
  ]);
  waited.abort();
}
