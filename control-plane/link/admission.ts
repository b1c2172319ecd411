import type { Hello } from "#shared/link/frames.ts";
import { closeCodes } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";
import type { Holders } from "./holders.ts";
import type { Session } from "./session.ts";

/**
 * Who holds a node when a second socket says hello. The same agent instance (its old socket is half open): the new socket, at
 * once. Another instance, such as a copied key: the old one is probed; if it answers the new one is closed as a duplicate, else
 * the new one holds the node. The epoch of the database orders the sessions that were admitted.
 */
export type Admission = { epoch: number; nodeName: string; maxProcesses: number };

export type Place = { session: Session; holders: Holders; needs: Pick<Needs, "store" | "log" | "now"> };

/** The node's place for a session that said hello; undefined when it was closed or went meanwhile. */
export async function admit(
  { session, holders, needs }: Place,
  hello: Hello,
): Promise<Admission | undefined> {
  const holder = holders.of(session.nodeId)?.session;
  if (holder !== undefined && holder.instanceId !== hello.instanceId && (await holder.answersProbe())) {
    needs.log.warn("node.duplicate_agent", { nodeId: session.nodeId, machineId: hello.machineId });
    session.close(closeCodes.duplicateAgent, "duplicate_agent: another agent holds this node");
    return undefined;
  }
  // A socket that went while the old one was probed takes nothing from it.
  if (session.signal.aborted) return undefined;
  holder?.terminate("superseded");
  return connect({ session, holders, needs }, hello);
}

async function connect({ session, needs }: Place, hello: Hello): Promise<Admission | undefined> {
  const { nodeId } = session;
  const { instanceId, machineId, bootId, facts } = hello;
  const connected = await session.persist(async () => {
    const epoch = await needs.store.nodes.connected(nodeId, {
      instanceId,
      machineId,
      bootId,
      facts,
      now: needs.now(),
    });
    return { epoch, node: epoch === undefined ? undefined : await needs.store.nodes.find(nodeId) };
  });
  if (connected === undefined) return undefined;
  const { epoch, node } = connected.value;
  if (epoch !== undefined && node !== undefined)
    return { epoch, nodeName: node.name, maxProcesses: node.maxProcesses };
  session.close(closeCodes.revoked, "the node was deleted");
  return undefined;
}
