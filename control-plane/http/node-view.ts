import type { NodeView } from "#shared/api/node.ts";
import { drainOf, leaseOf } from "#shared/node-hold.ts";
import { nodeStatus } from "../actions/node-presence.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";

const maintenanceOf = (node: NodeRow, now: Date): Pick<NodeView, "draining" | "lease"> => {
  const [drain, lease] = [drainOf(node), leaseOf(node, now)];
  return {
    ...(drain && { draining: { reason: drain.reason, deadlineAt: drain.deadlineAt?.toISOString() ?? null } }),
    ...(lease && { lease: { reason: lease.reason, expiresAt: lease.expiresAt.toISOString() } }),
  };
};

/** A node as every route answers it: its row, and what its live socket says now. */
export const nodeView = (needs: Needs, node: NodeRow): NodeView => {
  const live = needs.hub.sign(node.id);
  const { facts } = node;
  return {
    id: node.id,
    name: node.name,
    status: nodeStatus(needs, node),
    labels: node.labels,
    lastSeenAt: (live?.lastSeenAt ?? node.lastSeenAt)?.toISOString() ?? null,
    version: facts.version ?? null,
    os: facts.os ?? null,
    arch: facts.arch ?? null,
    hostname: facts.hostname ?? null,
    cpus: facts.cpus ?? null,
    memBytes: facts.memBytes ?? null,
    enforces: facts.enforces ?? [],
    load: live?.load ?? node.load,
    clockSkewMs: live?.clockSkewMs ?? node.clockSkewMs,
    running: node.running,
    queued: node.queued,
    maxProcesses: node.maxProcesses,
    ...maintenanceOf(node, needs.now()),
    connectedAt: node.connectedAt?.toISOString() ?? null,
    createdAt: node.createdAt.toISOString(),
  };
};
