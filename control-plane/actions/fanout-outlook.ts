import { canceling, failuresIn, nodesOf, totalOf } from "#shared/fanout-state.ts";
import type { FanoutRow, Outlook } from "../store/store.ts";

/**
 * What becomes of a fan-out, out of how many of its nodes are in each state. In this order:
 * 1. Nothing waits and nothing runs: it is over. `succeeded` only if every node succeeded.
 * 2. It is being canceled: what runs ends, nothing else starts.
 * 3. Its time has passed: what waits is skipped, also while it is paused.
 * 4. Failures since somebody last went on reach `maxFailures`, or there is one before `canary` nodes have succeeded: it pauses.
 * 5. It is paused: nothing starts.
 * 6. Nodes start while fewer than `parallel` run; before `canary` of them have succeeded no more than are still missing; and with
 *    `staggerMs` one at a time, that long after the last.
 */
export const outlookOf = (fanout: FanoutRow, now: Date): Outlook => {
  const { counts, status, reason, expiresAt } = fanout;
  if (counts.waiting + counts.running === 0) return { ...still, ...closed(fanout) };
  if (reason === canceling) return { ...still, status, reason };
  if (counts.waiting === 0) return { ...still, status, reason };
  if (expiresAt !== null && expiresAt <= now) return { ...still, status, reason, expire: true };
  const stop = status === "running" ? stopOf(fanout) : undefined;
  if (stop !== undefined) return { ...still, status: "paused", reason: stop, lookAt: expiresAt };
  if (status === "paused") return { ...still, status, reason, lookAt: expiresAt };
  return { ...still, status, reason, ...roomOf(fanout, now) };
};

const still = { expire: false, room: 0, lookAt: null };

const closed = ({ counts, reason }: FanoutRow): Pick<Outlook, "status" | "reason"> => {
  if (reason === canceling) return { status: "canceled", reason: null };
  if (counts.succeeded === totalOf(counts)) return { status: "succeeded", reason: null };
  if (failuresIn(counts) > 0) return { status: "failed", reason: "node_failures" };
  return { status: "failed", reason: counts.canceled > 0 ? "nodes_canceled" : "nodes_skipped" };
};

const stopOf = ({ counts, plan }: FanoutRow): "max_failures" | "canary_failed" | undefined => {
  const failures = failuresIn(counts) - plan.acceptedFailures;
  if (plan.maxFailures !== null && failures >= nodesOf(plan.maxFailures, totalOf(counts)))
    return "max_failures";
  return failures > 0 && canariesMissing({ counts, plan }) > 0 ? "canary_failed" : undefined;
};

const canariesMissing = ({ counts, plan }: Pick<FanoutRow, "counts" | "plan">): number =>
  Math.max(0, (plan.canary ?? 0) - counts.succeeded);

const roomOf = (fanout: FanoutRow, now: Date): Pick<Outlook, "room" | "lookAt"> => {
  const { counts, plan, lastStartAt, expiresAt } = fanout;
  const missing = canariesMissing(fanout);
  const atOnce = Math.min(
    plan.parallel === null ? Infinity : nodesOf(plan.parallel, totalOf(counts)),
    missing > 0 ? missing : Infinity,
  );
  const room = Math.max(0, Math.min(counts.waiting, atOnce - counts.running));
  const staggerMs = plan.staggerMs ?? 0;
  if (room === 0 || staggerMs === 0) return { room, lookAt: expiresAt };
  const nextAt = new Date((lastStartAt?.getTime() ?? 0) + staggerMs);
  if (nextAt > now) return { room: 0, lookAt: earlier(nextAt, expiresAt) };
  return { room: 1, lookAt: earlier(new Date(now.getTime() + staggerMs), expiresAt) };
};

const earlier = (one: Date, other: Date | null): Date => (other !== null && other < one ? other : one);
