import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";

const time = (date: Date | null): string | null => date?.toISOString() ?? null;

/** Processes as every route answers them. While its node is away a process keeps its last status and is `stale`. */
export const processViews = async (needs: Needs, rows: ProcessRow[]): Promise<ProcessView[]> => {
  const live = rows.filter((row) => !isFinal(row.status)).map((row) => row.nodeId);
  const online = await needs.hub.onlineAmong([...new Set(live)]);
  return rows.map((row) => viewOf(row, !isFinal(row.status) && !online.has(row.nodeId)));
};

export const processView = async (needs: Needs, row: ProcessRow): Promise<ProcessView> => {
  const stale = !isFinal(row.status) && !(await needs.hub.online(row.nodeId));
  return viewOf(row, stale);
};

const viewOf = (row: ProcessRow, stale: boolean): ProcessView => ({
  id: row.id,
  key: row.key,
  nodeId: row.nodeId,
  chatId: row.launch.chatId,
  turnId: null,
  taskRunId: null,
  fanoutId: row.fanoutId,
  command: row.launch.command,
  argv: row.launch.argv,
  cwd: row.cwd ?? row.launch.cwd,
  status: row.status,
  reason: row.reason,
  detail: row.detail,
  exitCode: row.exitCode,
  signal: row.signal,
  pid: row.pid,
  background: row.background,
  timeoutMs: row.launch.timeoutMs,
  idleTimeoutMs: row.launch.idleTimeoutMs,
  createdAt: row.createdAt.toISOString(),
  startedAt: time(row.startedAt),
  exitedAt: time(row.exitedAt),
  durationMs: row.durationMs,
  observedAt: time(row.observedAt),
  stale,
  output: { totalBytes: row.totalBytes, omittedBytes: row.omittedBytes, lines: row.lines },
  labels: row.labels,
  survivors: row.survivors,
});
