import { closeCodes } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import type { Admission } from "./admission.ts";
import { persist } from "./retry.ts";
import type { KeptSession } from "./socket.ts";
import type { LinkTimes } from "./times.ts";

/** An admission that took place before, and the processes that live or wait on the node. */
export type Resumed = { admission: Admission; rows: ProcessRow[] };
type Around = { needs: Pick<Needs, "store" | "log">; times: LinkTimes };

const tryAgainLater = 1013;

/**
 * What the database knows of a session whose memory was taken. The session before had compared the inventory with the
 * rows, and every report since then was stored before it was acknowledged, so the rows are what it knew. Else the code to close its
 * socket with: the node is gone or held by a newer session, or the database does not answer for a while.
 */
export async function whatIsKept(
  around: Around,
  nodeId: string,
  kept: KeptSession,
): Promise<Resumed | number> {
  const { needs, times } = around;
  const late = new AbortController();
  // Cleared: a timer that runs on would keep a runtime from sleeping.
  const timer = setTimeout(() => late.abort(), times.farewellMs);
  const found = await persist(() => readKept(needs, nodeId, kept), {
    signal: late.signal,
    pauses: times.retryMs,
    onFailure: (error) => needs.log.warn("link.not_resumed", { nodeId, error }),
  }).finally(() => clearTimeout(timer));
  return found?.value ?? tryAgainLater;
}

async function readKept(
  { store: { nodes, processes } }: Around["needs"],
  nodeId: string,
  { epoch }: KeptSession,
): Promise<Resumed | number> {
  const [state, rows] = await Promise.all([nodes.state(nodeId), processes.unfinished(nodeId)]);
  if (state === undefined) return closeCodes.revoked;
  // Also where its end was written down meanwhile: the agent connects anew and takes the node.
  if (state.epoch !== epoch || state.heldBy === null) return closeCodes.goingAway;
  const { name, maxProcesses } = state;
  const session = { epoch, name, maxProcesses, keyHash: "", unfinished: rows.length > 0 };
  return { admission: { outcome: "connected", ...session, formerMachineId: null }, rows };
}
