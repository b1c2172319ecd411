import { closeCodes } from "#shared/link/limits.ts";
import type { ProcessRow, Store } from "../store/store.ts";
import type { Admission } from "./admission.ts";
import type { KeptSession } from "./socket.ts";

/**
 * What the database knows of a session whose memory was taken: its node, and the processes that live or wait there. The
 * session before had compared the inventory with the rows, and every report since then was stored before it was
 * acknowledged, so the rows are what it knew. The code to close its socket with where the node is gone or held by a newer one.
 */
export async function whatIsKept(
  { nodes, processes }: Pick<Store, "nodes" | "processes">,
  nodeId: string,
  { epoch }: KeptSession,
): Promise<{ admission: Admission; rows: ProcessRow[] } | number> {
  const [state, rows] = await Promise.all([nodes.state(nodeId), processes.unfinished(nodeId)]);
  if (state === undefined) return closeCodes.revoked;
  // Also where its end was written down meanwhile: the agent connects anew and takes the node.
  if (state.epoch !== epoch || state.heldBy === null) return closeCodes.goingAway;
  const { name, maxProcesses } = state;
  const session = { epoch, name, maxProcesses, keyHash: "", unfinished: rows.length > 0 };
  return { admission: { outcome: "connected", ...session, formerMachineId: null }, rows };
}
