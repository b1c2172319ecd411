import { isFinal } from "#shared/process-state.ts";
import { DroverError } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { Watch } from "./watch.ts";

// Notices are hints and may be dropped, so a waiter looks by itself now and then.
const lookEveryMs = 15_000;

export type Limit = { waitMs: number; signal: AbortSignal };

/** The process, or `not_found`. */
export const getProcess = async (needs: Needs, id: string): Promise<ProcessRow> => {
  const row = await needs.store.processes.get(id);
  if (row === undefined) throw new DroverError("not_found", "there is no such process");
  return row;
};

/** Waits until `done` holds for the process, the time is over or the client left; answers the newest row. */
export const waitUntil = async (
  needs: Needs,
  watched: { row: ProcessRow; watch: Watch },
  limit: Limit & { done(row: ProcessRow): boolean },
): Promise<ProcessRow> => {
  const end = performance.now() + limit.waitMs;
  let { row } = watched;
  while (!limit.done(row)) {
    const leftMs = end - performance.now();
    if (leftMs <= 0) break;
    if ((await watched.watch.next(Math.min(leftMs, lookEveryMs), limit.signal)) === "aborted") break;
    row = await getProcess(needs, row.id);
  }
  return row;
};

export const ended = (row: ProcessRow): boolean => isFinal(row.status);

/** The process once it is final, or as it is when the time is over. */
export const waitFinal = async (needs: Needs, id: string, limit: Limit): Promise<ProcessRow> => {
  const watch = new Watch(needs.bus, [`process:${id}`]);
  try {
    const row = await getProcess(needs, id);
    return await waitUntil(needs, { row, watch }, { ...limit, done: ended });
  } finally {
    watch.close();
  }
};
