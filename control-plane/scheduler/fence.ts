import { confirmWithinMs } from "#shared/link/limits.ts";
import { dispatchQueued } from "../link/dispatch.ts";
import type { Needs } from "../needs.ts";

/**
 * A start that its node has not confirmed in time is fenced, so that nobody waits for it for ever and it never runs late unseen.
 * One that was surely not sent goes back to the queue, where its own time ends it; one that may have arrived becomes
 * `lost`/`unconfirmed` and its node is told to stop it. A start that may wait for its node (`ifOffline: queue`) waits on.
 */
export async function fenceUnconfirmed(needs: Needs): Promise<void> {
  const before = new Date(needs.now().getTime() - confirmWithinMs);
  for (const start of await needs.store.processes.unconfirmed(before)) {
    const fate = await fateOf(needs, start, before);
    if (fate === "requeue") await requeue(needs, start);
    else if (fate === "lost") await lose(needs, start);
  }
}

type Start = { id: string; nodeId: string; heldBy: string | null };

async function fateOf(
  { hub, store, instance }: Needs,
  { id, nodeId, heldBy }: Start,
  before: Date,
): Promise<"wait" | "requeue" | "lost"> {
  const here = hub.here(nodeId) !== undefined;
  // Whoever has the node's socket knows what was sent. A session that just ended says so before its node is free.
  if (heldBy !== null && (heldBy !== instance || !here)) return "wait";
  if (hub.confirmed(nodeId, id)) return "wait";
  const sentAt = hub.sentAt(nodeId, id);
  if (sentAt !== undefined) return sentAt > before ? "wait" : "lost";
  // The session of a live node sends again what never arrived: a start it did not send was never sent by anybody.
  if (here) return "requeue";
  const row = await store.processes.get(id);
  return row?.ifOffline === "queue" ? "requeue" : "lost";
}

async function requeue(needs: Needs, { id, nodeId }: Start): Promise<void> {
  await needs.store.processes.putBack([id]);
  needs.bus.publish(`process:${id}`);
  await dispatchQueued(needs, nodeId);
}

async function lose(needs: Needs, { id, nodeId }: Start): Promise<void> {
  const { store, bus, hub, log } = needs;
  const changed = await store.processes.conclude([id], {
    status: "lost",
    reason: "unconfirmed",
    now: needs.now(),
    onlyStatuses: ["starting"],
    onlyUnreported: true,
  });
  if (changed.length === 0) return;
  bus.publish(`process:${id}`);
  hub.push(nodeId, { type: "stop", id, graceMs: 0, reason: "stopped" });
  log.warn("process.unconfirmed", { processId: id, nodeId });
}
