import type { Needs } from "../needs.ts";

/**
 * Tells the nodes that are here again what was asked to stop and has not stopped long after its grace: the first telling may have
 * been a letter that was lost, and a node whose socket stays compares nothing. `asked` says when each is due to be told again.
 */
export type AskedStops = ReadonlyMap<string, Date>;

/** Beyond its grace, how long an end and its report may take. */
const unheardMs = 30_000;

export async function tellStopsAgain(needs: Needs, asked: AskedStops): Promise<AskedStops> {
  const { store, hub, instance } = needs;
  const now = needs.now();
  const waiting = new Map<string, Date>();
  for (const { id, nodeId, stop } of await store.processes.askedToStop(instance)) {
    const due = asked.get(id);
    const isDue = due !== undefined && due <= now;
    if (isDue) hub.push(nodeId, { type: "stop", id, ...stop });
    const again = new Date(now.getTime() + stop.graceMs + unheardMs);
    waiting.set(id, due === undefined || isDue ? again : due);
  }
  return waiting;
}
