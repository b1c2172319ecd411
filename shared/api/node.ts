import * as z from "zod";
import { labels, limitMs, maxLimitMs, nodeName, plainText, timestamp } from "./common.ts";

/** What a machine says of itself; every field may be missing from a foreign agent. */
export const nodeFacts = z.object({
  version: plainText(64).optional(),
  os: plainText(64).optional(),
  arch: plainText(64).optional(),
  hostname: plainText(255).optional(),
  cpus: z.int().min(0).optional(),
  memBytes: z.int().min(0).optional(),
  /** Which of the `limits` that not every node can hold this one can: see walls.ts. */
  enforces: z.array(plainText(64)).max(32).optional(),
  /** As whom it runs, and so do commands that name no other user. */
  user: plainText(256).optional(),
  maxProcesses: z.int().min(1).max(100_000).optional(),
});
export type NodeFacts = z.infer<typeof nodeFacts>;

/** CPU in use (0…1 of all cores), memory in use, free bytes where the agent keeps its data. */
export const nodeLoad = z.object({ cpu: z.number(), memUsedBytes: z.number(), diskFreeBytes: z.number() });
export type NodeLoad = z.infer<typeof nodeLoad>;

export const nodeStatuses = ["online", "unreachable", "offline"] as const;
export const nodeView = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(nodeStatuses),
  labels: z.record(z.string(), z.string()),
  lastSeenAt: timestamp.nullable(),
  version: z.string().nullable(),
  os: z.string().nullable(),
  arch: z.string().nullable(),
  hostname: z.string().nullable(),
  cpus: z.int().nullable(),
  memBytes: z.number().nullable(),
  enforces: z.array(z.string()),
  load: nodeLoad.nullable(),
  /** The node's clock less the control plane's, as measured last; null where the agent does not say. */
  clockSkewMs: z.int().nullable(),
  running: z.int(),
  queued: z.int(),
  maxProcesses: z.int(),
  /** Only while it drains: nothing new starts there, and at the deadline what still lives is stopped (null: never). */
  draining: z.object({ reason: z.string(), deadlineAt: timestamp.nullable() }).optional(),
  /** Only while it is leased: nothing starts there but what names the lease. */
  lease: z.object({ reason: z.string(), expiresAt: timestamp }).optional(),
  connectedAt: timestamp.nullable(),
  createdAt: timestamp,
});
export type NodeView = z.infer<typeof nodeView>;

export const patchNodeBody = z.strictObject({
  name: nodeName.optional(),
  labels: labels.optional(),
  maxProcesses: z.int().min(1).max(100_000).optional(),
});
const reason = plainText(1000).refine((text) => text.trim() !== "", "must not be empty or blank");
/** Without `deadlineMs` what runs may take as long as it likes; 0 stops it at once. */
export const drainBody = z.strictObject({
  reason,
  deadlineMs: z.int().min(0).max(maxLimitMs).optional(),
});
export type DrainBody = z.infer<typeof drainBody>;

const maxLeaseMs = 30 * 24 * 3_600_000;
export const leaseBody = z.strictObject({ reason, ttlMs: z.int().min(1).max(maxLeaseMs, "at most 30 days") });
export type LeaseBody = z.infer<typeof leaseBody>;
export const leaseView = z.object({ leaseId: z.string(), expiresAt: timestamp });
export type LeaseView = z.infer<typeof leaseView>;
/** The header by which a start, a renewal or a release names its lease. */
export const leaseHeader = "Drover-Lease";

export const listNodesQuery = {
  selector: z.string().max(4096).optional(),
  status: z.enum(nodeStatuses, `must be one of ${nodeStatuses.join(", ")}`).optional(),
};

export const joinTokenBody = z.strictObject({
  ttlMs: limitMs.default(3_600_000),
  maxUses: z.int().min(1).max(1_000_000).default(1),
  nodeName: nodeName.optional(),
  labels: labels.default({}),
  allowLabels: z.boolean().default(true),
  replace: z.boolean().default(false),
});
export type JoinTokenBody = z.infer<typeof joinTokenBody>;
export const joinTokenView = z.object({
  token: z.string().optional(),
  secretShown: z.boolean().optional(),
  command: z.string(),
  expiresAt: timestamp,
});

export const enrollBody = z.strictObject({
  joinToken: z.string().min(1).max(200),
  name: nodeName,
  /** SHA-256 (hex) of the text of the agent's own key. */
  keyHash: z.string().regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the key in hex"),
  labels: labels.default({}),
  facts: nodeFacts.default({}),
});
export type EnrollBody = z.infer<typeof enrollBody>;
export const enrollAnswer = z.object({ nodeId: z.string(), name: z.string() });
