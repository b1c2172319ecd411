import type { Launch } from "#shared/link/launch.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { completeLaunch } from "./launch.ts";

/**
 * From rows to the node. A row that is `starting` was handed out; what could not be sent after all goes back to `queued`.
 * Whoever makes a row `queued` calls `dispatchQueued` after it: that, each hello and each ending are the moments when
 * queued rows may find a place.
 */
type DispatchNeeds = Pick<Needs, "store" | "hub" | "seal" | "log" | "bus" | "now">;

const batch = 64;

/**
 * Sends a start that was just stored as `starting`; one that cannot be sent now waits in the queue. Returns whether it is on its
 * way. Another holder is told its id: it has the row, and the fence finds a start that nobody sent.
 */
export async function dispatchStart(needs: DispatchNeeds, nodeId: string, launch: Launch): Promise<boolean> {
  if (needs.hub.start(nodeId, launch)) return true;
  if (needs.hub.here(nodeId) === undefined) {
    if (await needs.hub.dispatchElsewhere(nodeId, launch.id)) return true;
    // Its agent may have come here meanwhile, and then its session has sent what was stored.
    if (needs.hub.start(nodeId, launch)) return true;
  }
  await returnUnsent(needs, nodeId, [launch.id]);
  await dispatchQueued(needs, nodeId);
  return false;
}

/**
 * Starts queued rows of the node, oldest first, while it has places; whoever has its socket does it, one round after the
 * other, so that what one took is sent before the next one takes.
 */
export async function dispatchQueued(needs: DispatchNeeds, nodeId: string): Promise<void> {
  if (needs.hub.here(nodeId) === undefined) return void (await needs.hub.dispatchElsewhere(nodeId));
  await needs.hub.inTurn(nodeId, () => sendQueued(needs, nodeId));
}

/** What another control plane asks of the holder of a node: to send a start that it stored as handed out, or what is queued. */
export async function dispatchFor(needs: DispatchNeeds, nodeId: string, id?: string): Promise<void> {
  if (id === undefined) return dispatchQueued(needs, nodeId);
  const { processes } = needs.store;
  const [row, sealed] = await Promise.all([processes.get(id), processes.sealed(id)]);
  if (row?.status !== "starting" || row.revision > 0 || row.nodeId !== nodeId) return;
  if (row.stop !== null) return endUnsent(needs, [id], { status: "canceled", reason: null });
  const launch = await unsealed(needs, row, sealed);
  if (launch !== undefined) await dispatchStart(needs, nodeId, launch);
}

async function sendQueued(needs: DispatchNeeds, nodeId: string): Promise<void> {
  for (let places = needs.hub.free(nodeId); places > 0; places = needs.hub.free(nodeId)) {
    const rows = await needs.store.processes.takeQueued(nodeId, Math.min(places, batch), needs.now());
    if (rows.length === 0) return;
    for (const row of rows) needs.bus.publish(`process:${row.id}`);
    // Stopped between a push that failed and its way back to the queue.
    const [stopped, wanted] = [
      rows.filter((row) => row.stop !== null),
      rows.filter((row) => row.stop === null),
    ];
    await endUnsent(needs, idsOf(stopped), { status: "canceled", reason: null });
    const launches = await Promise.all(wanted.map((row) => launchOf(needs, row)));
    const readable = launches.filter((launch) => launch !== undefined);
    await returnUnsent(needs, nodeId, idsOf(readable.filter((launch) => !needs.hub.start(nodeId, launch))));
  }
}

/** The launch of a row; undefined for one whose sealed part cannot be opened (another secret key): it is never delivered. */
export async function launchOf(needs: DispatchNeeds, row: ProcessRow): Promise<Launch | undefined> {
  return unsealed(needs, row, await needs.store.processes.sealed(row.id));
}

async function unsealed(
  needs: DispatchNeeds,
  row: ProcessRow,
  sealed: Uint8Array | null,
): Promise<Launch | undefined> {
  try {
    return await completeLaunch(needs.seal, row, sealed);
  } catch (error) {
    needs.log.error("process.launch_unreadable", { processId: row.id, error });
    await endUnsent(needs, [row.id], neverDelivered);
    return undefined;
  }
}

async function returnUnsent(needs: DispatchNeeds, nodeId: string, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  // A node that is there and has a place refuses only a start that no frame can carry: it would come back for ever.
  if (needs.hub.free(nodeId) > 0) return endUnsent(needs, ids, neverDelivered);
  await needs.store.processes.putBack(ids);
  for (const id of ids) needs.bus.publish(`process:${id}`);
}

type Ending = { status: "expired"; reason: "not_delivered" } | { status: "canceled"; reason: null };

const neverDelivered: Ending = { status: "expired", reason: "not_delivered" };

async function endUnsent(needs: DispatchNeeds, ids: string[], ending: Ending): Promise<void> {
  if (ids.length === 0) return;
  const rule = { ...ending, now: needs.now(), onlyUnreported: true };
  const changed = await needs.store.processes.conclude(ids, {
    ...rule,
    onlyStatuses: ["queued", "starting"],
  });
  for (const id of changed) needs.bus.publish(`process:${id}`);
}

const idsOf = (all: { id: string }[]): string[] => all.map(({ id }) => id);
