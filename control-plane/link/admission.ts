import type { Hello } from "#shared/link/frames.ts";
import { closeCodes } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";
import type { NodeState, SessionOutcome } from "../store/store.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { Holders } from "./holders.ts";
import type { Session } from "./session.ts";

/**
 * Who holds a node when another socket says hello. The same agent instance (its old socket is half open): the new socket, at
 * once. Another instance, such as a copied key: the old one is probed, here or by the control plane that has its socket; if it
 * answers the new one is closed as a duplicate, else the new one holds the node. The row decides: a session takes the node only
 * from nobody, from itself, or from the very epoch whose agent did not answer. The epoch orders the sessions that were admitted.
 */
export type Admission = Extract<SessionOutcome, { outcome: "connected" }>;

export type Place = {
  session: Session;
  holders: Holders;
  elsewhere: Elsewhere;
  needs: Pick<Needs, "store" | "log" | "now" | "instance">;
  challengeMs: number;
};

/** The node's place for a session that said hello; undefined when it was closed or went meanwhile. */
export async function admit(place: Place, hello: Hello): Promise<Admission | undefined> {
  const { session, holders } = place;
  const holder = holders.of(session.nodeId)?.session;
  if (holder !== undefined && holder.instanceId !== hello.instanceId && (await holder.answersProbe()))
    return refuse(place, hello);
  // A socket that went while the old one was probed takes nothing from it.
  if (session.signal.aborted) return undefined;
  holder?.terminate("superseded");
  return take(place, hello);
}

/** The node's state when a session with this hello would be admitted; undefined when it was closed as a duplicate or of no node. */
export async function wouldAdmit(place: Place, hello: Hello): Promise<NodeState | undefined> {
  const { session, holders, needs, elsewhere, challengeMs } = place;
  const { nodeId } = session;
  const found = await session.persist(() => needs.store.nodes.state(nodeId));
  if (found === undefined) return undefined;
  if (found.value === undefined) return deleted(session);
  const holder = holders.of(nodeId)?.session;
  const holds =
    holder === undefined
      ? (await elsewhere.held([nodeId])).size > 0 && (await elsewhere.answersProbe(nodeId, challengeMs))
      : await holder.answersProbe();
  return holds ? refuse(place, hello) : found.value;
}

async function take(place: Place, hello: Hello, from?: number): Promise<Admission | undefined> {
  const { session, needs, elsewhere, challengeMs } = place;
  const { instanceId, machineId, bootId, facts } = hello;
  const agent = { instanceId, machineId, bootId, facts, clockSkewMs: session.clockSkewMs };
  const taken = await session.persist(() =>
    needs.store.nodes.connected(session.nodeId, {
      ...agent,
      instance: needs.instance,
      from,
      now: needs.now(),
    }),
  );
  if (taken === undefined) return undefined;
  if (taken.value.outcome === "connected") return taken.value;
  if (taken.value.outcome === "unknown") return deleted(session);
  if (await elsewhere.answersProbe(session.nodeId, challengeMs)) return refuse(place, hello);
  return session.signal.aborted ? undefined : take(place, hello, taken.value.epoch);
}

function deleted(session: Session): undefined {
  session.close(closeCodes.revoked, "the node was deleted");
}

function refuse({ session, needs }: Place, hello: Hello): undefined {
  needs.log.warn("node.duplicate_agent", { nodeId: session.nodeId, machineId: hello.machineId });
  session.close(closeCodes.duplicateAgent, "duplicate_agent: another agent holds this node");
}
