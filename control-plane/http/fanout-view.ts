import type { FanoutNodeView, FanoutSummary, FanoutView } from "#shared/api/fanout.ts";
import { isFinalNode } from "#shared/fanout-state.ts";
import { groupsOf } from "../actions/fanout-groups.ts";
import type { Needs } from "../needs.ts";
import type { FanoutNodeRow, FanoutRow } from "../store/store.ts";

const time = (date: Date | null): string | null => date?.toISOString() ?? null;

/** A fan-out as a list shows it. */
export const fanoutSummary = ({ plan, process, ...row }: FanoutRow): FanoutSummary => ({
  id: row.id,
  selector: row.selector,
  status: row.status,
  reason: row.reason,
  command: process.command ?? null,
  argv: process.argv ?? null,
  parallel: plan.parallel,
  staggerMs: plan.staggerMs,
  canary: plan.canary,
  maxFailures: plan.maxFailures,
  ifOffline: plan.ifOffline,
  expiresMs: plan.expiresMs,
  counts: row.counts,
  createdAt: row.createdAt.toISOString(),
  expiresAt: time(row.expiresAt),
  endedAt: time(row.endedAt),
});

/** A fan-out with what its nodes wrote. */
export const fanoutView = async (needs: Needs, row: FanoutRow): Promise<FanoutView> => ({
  ...fanoutSummary(row),
  ...(await groupsOf(needs, row.id)),
});

export const fanoutNodeView = (row: FanoutNodeRow): FanoutNodeView => ({
  node: row.nodeName,
  nodeId: row.nodeId,
  position: row.position,
  status: row.status,
  reason: row.reason,
  attempt: row.attempt,
  // Of a claim nothing can be read yet.
  processId: row.startedAt === null ? null : row.processId,
  exitCode: row.exitCode,
  sha256: row.sha256,
  startedAt: time(row.startedAt),
  endedAt: isFinalNode(row.status) ? time(row.endedAt) : null,
});
