import { isFinal } from "#shared/process-state.ts";
import { DroverError } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { findNode } from "./find-node.ts";
import { getProcess, waitUntil } from "./wait-final.ts";
import { Watch } from "./watch.ts";

// The agent needs a moment beyond the grace to kill, look again and report.
const afterGraceMs = 1500;
const maxWaitMs = 15_000;

/** Whether nothing of the process is left on its node. */
export const isGone = (row: ProcessRow): boolean => isFinal(row.status) && row.survivors.length === 0;

/**
 * Stops a process and what it left behind; answers the row once all is gone, or as it is after a bounded wait. `asked` is called
 * when the wish is stored and sent.
 */
export const stopProcess = async (
  needs: Needs,
  id: string,
  stop: { graceMs?: number | undefined; signal: AbortSignal; asked?: (row: ProcessRow) => void },
): Promise<ProcessRow> => {
  const watch = new Watch(needs.bus, [`process:${id}`]);
  try {
    const before = await getProcess(needs, id);
    if (isGone(before)) return before;
    const graceMs = stop.graceMs ?? before.launch.graceMs;
    const row = await askToStop(needs, before, graceMs);
    stop.asked?.(row);
    const waitMs = (await needs.hub.online(row.nodeId)) ? Math.min(graceMs + afterGraceMs, maxWaitMs) : 0;
    return await waitUntil(needs, { row, watch }, { waitMs, signal: stop.signal, done: isGone });
  } finally {
    watch.close();
  }
};

/** The wish is stored before it is sent: a reconnect asks again until the ending is known. */
export const askToStop = async (needs: Needs, process: ProcessRow, graceMs: number): Promise<ProcessRow> => {
  const row = await needs.store.processes.requestStop(process.id, {
    graceMs,
    reason: "stopped",
    now: needs.now(),
  });
  if (row === undefined) throw new DroverError("not_found", "there is no such process");
  needs.bus.publish(`process:${row.id}`);
  if (!isGone(row))
    needs.hub.push(row.nodeId, { type: "stop", id: row.id, graceMs, reason: row.stop?.reason ?? "stopped" });
  return row;
};

/** Stops the process of a key, or fences a key that was never seen so that its start does nothing. */
export const cancelKey = async (
  needs: Needs,
  scope: { node: string; key: string; signal: AbortSignal; asked: (row: ProcessRow) => void },
): Promise<ProcessRow | null> => {
  const node = await findNode(needs, scope.node);
  const found = await needs.store.processes.fenceKey({
    nodeId: node.id,
    chatId: null,
    key: scope.key,
    now: needs.now(),
  });
  if (found.outcome === "fenced") return null;
  return stopProcess(needs, found.process.id, { signal: scope.signal, asked: scope.asked });
};
