import * as z from "zod";
import { fanoutNodeStatuses, fanoutStatuses, type Share } from "../fanout-state.ts";
import { limitMs, plainText, timestamp } from "./common.ts";
import { processTemplate, truncated } from "./process.ts";

/** The most nodes of one fan-out. */
export const maxFanoutNodes = 10_000;

const nodeCount = z.int().min(1).max(maxFanoutNodes);

const shareProblem = `must be a number of nodes from 1 to ${maxFanoutNodes}, or a share from 1% to 100%`;
const percent = z
  .string(shareProblem)
  .regex(/^(100(\.0{1,3})?|[1-9]?\d(\.\d{1,3})?)%$/, shareProblem)
  .refine((text) => Number.parseFloat(text) > 0, shareProblem)
  .transform((text): Share => text as Share);
// One sentence whatever is wrong, since both kinds are tried: equal messages are told once.
const share = z.union([z.int(shareProblem).min(1, shareProblem).max(maxFanoutNodes, shareProblem), percent]);

/** The body of `POST /v1/fanouts`. */
export const fanoutBody = z.strictObject({
  selector: plainText(4096 * 4).refine(
    (text) => text.trim() !== "",
    "must not be empty; all nodes are written *",
  ),
  process: processTemplate,
  parallel: share.optional(),
  staggerMs: z.int().min(0).max(86_400_000).optional(),
  canary: nodeCount.optional(),
  maxFailures: share.optional(),
  ifOffline: z.enum(["fail", "queue"]).default("fail"),
  expiresMs: limitMs.optional(),
});
export type FanoutBody = z.infer<typeof fanoutBody>;

const counts = z.object(
  Object.fromEntries(fanoutNodeStatuses.map((status) => [status, z.int()])) as Record<
    (typeof fanoutNodeStatuses)[number],
    z.ZodInt
  >,
);

/** Nodes whose command ended in the same way with the same output; at most 100 of them are named, `count` is exact. */
export const fanoutGroup = z.object({
  count: z.int(),
  nodes: z.array(z.string()),
  status: z.enum(fanoutNodeStatuses),
  exitCode: z.int().nullable(),
  /** Of the output; where Drover keeps only its head and tail, of these and its length. */
  sha256: z.string(),
  /** Head and tail of the output (stdout, then stderr where they are apart). */
  text: z.string(),
  truncated,
});
export type FanoutGroup = z.infer<typeof fanoutGroup>;

/** A fan-out in a list. */
export const fanoutSummary = z.object({
  id: z.string(),
  selector: z.string(),
  status: z.enum(fanoutStatuses),
  reason: z.string().nullable(),
  command: z.string().nullable(),
  argv: z.array(z.string()).nullable(),
  parallel: z.union([z.int(), z.string()]).nullable(),
  staggerMs: z.int().nullable(),
  canary: z.int().nullable(),
  maxFailures: z.union([z.int(), z.string()]).nullable(),
  ifOffline: z.enum(["fail", "queue"]),
  expiresMs: z.number().nullable(),
  counts,
  createdAt: timestamp,
  expiresAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
});
export type FanoutSummary = z.infer<typeof fanoutSummary>;

/** A fan-out by itself: also what its nodes wrote, folded; the largest 100 groups of `groupCount`. */
export const fanoutView = fanoutSummary.extend({ groups: z.array(fanoutGroup), groupCount: z.int() });
export type FanoutView = z.infer<typeof fanoutView>;

export const fanoutNodeView = z.object({
  node: z.string(),
  nodeId: z.string(),
  /** The order of starts, from 0. */
  position: z.int(),
  status: z.enum(fanoutNodeStatuses),
  reason: z.string().nullable(),
  attempt: z.int(),
  /** The process of this attempt, once it was started. */
  processId: z.string().nullable(),
  exitCode: z.int().nullable(),
  sha256: z.string().nullable(),
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
});
export type FanoutNodeView = z.infer<typeof fanoutNodeView>;
