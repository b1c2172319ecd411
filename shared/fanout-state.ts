/**
 * A fan-out is one command over the nodes that its selector matched when it was made, and one row for each of them.
 *
 * The fan-out: running ⇄ paused → succeeded | failed | canceled. Only a retry opens a final one again. While it is being
 * canceled it is `running` with the reason `canceling`, until what runs has ended.
 * A node: waiting → running → one final state. It goes back to waiting when its process surely never arrived and the
 * fan-out may wait for its node, or by a retry, which is a new attempt.
 */
import type { FinalStatus } from "./process-state.ts";

export const fanoutStatuses = ["running", "paused", "succeeded", "failed", "canceled"] as const;
export type FanoutStatus = (typeof fanoutStatuses)[number];

export const fanoutNodeStatuses = [
  "waiting",
  "running",
  "succeeded",
  "failed",
  "timed_out",
  "skipped",
  "canceled",
  "lost",
] as const;
export type FanoutNodeStatus = (typeof fanoutNodeStatuses)[number];

/** How many nodes are in each state. */
export type FanoutCounts = Record<FanoutNodeStatus, number>;

/** Of a fan-out that is still `running` although it was canceled. */
export const canceling = "canceling";

export const isFinalFanout = (status: FanoutStatus): boolean => status !== "running" && status !== "paused";
export const isFinalNode = (status: FanoutNodeStatus): boolean =>
  status !== "waiting" && status !== "running";

/** What the ending of its process says of a node; `exited` means succeeded only with exit code 0. */
export const nodeEndings: Record<FinalStatus, FanoutNodeStatus> = {
  exited: "failed",
  killed: "failed",
  timed_out: "timed_out",
  failed: "failed",
  canceled: "canceled",
  expired: "skipped",
  lost: "lost",
};

/** Nodes whose command went wrong; one that was skipped or canceled is no failure of the command. */
export const failuresIn = (counts: FanoutCounts): number => counts.failed + counts.timed_out + counts.lost;

export const totalOf = (counts: FanoutCounts): number =>
  fanoutNodeStatuses.reduce((sum, status) => sum + counts[status], 0);

/** A number of nodes, or a share of them such as `25%`. */
export type Share = number | `${number}%`;

/** How many of `total` a share is: rounded up, at least one. */
export const nodesOf = (share: Share, total: number): number =>
  typeof share === "number" ? share : Math.max(1, Math.ceil((total * Number.parseFloat(share)) / 100));
