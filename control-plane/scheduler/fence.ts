import { confirmWithinMs } from "#shared/link/limits.ts";
import { dispatchQueued } from "../link/dispatch.ts";
import type { Needs } from "../needs.ts";
import type { UnconfirmedStart, UnheardEnding } from "../store/store.ts";

/**
 * A start that its node has not confirmed in time is fenced, so that nobody waits for it for ever and it never runs late unseen.
 * One that was surely not sent goes back to the queue, where its own time ends it, or ends here where it may not wait; one that
 * may have arrived becomes `lost`/`unconfirmed` and its node is told to stop it. One that may wait for its node
 * (`ifOffline: queue`) and may have arrived waits for the next hello, which tells.
 */
export async function fenceUnconfirmed(needs: Needs): Promise<void> {
  const before = new Date(needs.now().getTime() - confirmWithinMs);
  for (const start of await needs.store.processes.unconfirmed(before)) {
    const fate = fateOf(needs, start, before);
    if (fate === "requeue") await requeue(needs, start);
    else if (fate !== "wait") await conclude(needs, start, fate);
  }
}

type Start = UnconfirmedStart;

const lost: UnheardEnding = { status: "lost", reason: "unconfirmed" };
const notDelivered: UnheardEnding = { status: "expired", reason: "not_delivered" };

function fateOf(
  { hub, instance }: Needs,
  { id, nodeId, heldBy, ifOffline }: Start,
  before: Date,
): "wait" | "requeue" | UnheardEnding {
  const here = hub.here(nodeId) !== undefined;
  // Whoever has the node's socket knows what was sent. A session that just ended says so before its node is free.
  if (heldBy !== null && (heldBy !== instance || !here)) return "wait";
  if (hub.confirmed(nodeId, id)) return "wait";
  const sentAt = hub.sentAt(nodeId, id);
  if (sentAt !== undefined) return sentAt > before ? "wait" : lost;
  // The session of a live node sends again what never arrived: a start it did not send was never sent by anybody.
  if (here) return ifOffline === "queue" ? "requeue" : notDelivered;
  return ifOffline === "queue" ? "wait" : lost;
}

async function requeue(needs: Needs, start: Start): Promise<void> {
  for (const id of await needs.store.processes.putBack([start], needs.now()))
    needs.bus.publish(`process:${id}`);
  await dispatchQueued(needs, start.nodeId);
}

async function conclude(needs: Needs, start: Start, ending: UnheardEnding): Promise<void> {
  const { store, bus, hub, log } = needs;
  const { id, nodeId } = start;
  const changed = await store.processes.endUnheard([start], ending, needs.now());
  if (changed.length === 0) return;
  bus.publish(`process:${id}`);
  hub.push(nodeId, { type: "stop", id, graceMs: 0, reason: "stopped" });
  log.warn("process.fenced", { processId: id, nodeId, ...ending });
}
