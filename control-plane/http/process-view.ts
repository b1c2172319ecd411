import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";

const time = (date: Date | null): string | null => date?.toISOString() ?? null;

/** A process as every route answers it. While its node is away it keeps its last status and is `stale`. */
export const processView = (needs: Needs, row: ProcessRow): ProcessView => ({
  id: row.id,
  key: row.key,
  nodeId: row.nodeId,
  chatId: row.launch.chatId,
  turnId: null,
  taskRunId: null,
  fanoutId: null,
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
  stale: !isFinal(row.status) && !needs.hub.online(row.nodeId),
  output: { totalBytes: row.totalBytes, omittedBytes: row.omittedBytes, lines: row.lines },
  labels: row.labels,
  survivors: row.survivors,
});
