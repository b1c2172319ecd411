/**
 * A process moves one way: queued → starting → running → stopping → one final state, written once.
 * A report seen twice, late or out of order therefore changes nothing. The one exception is `lost`
 * (its fate was unknown), which may later be replaced by the true ending.
 */
export const liveStatuses = ["queued", "starting", "running", "stopping"] as const;
export const finalStatuses = [
  "exited",
  "killed",
  "timed_out",
  "failed",
  "canceled",
  "expired",
  "lost",
] as const;
export const processStatuses = [...liveStatuses, ...finalStatuses] as const;

export type FinalStatus = (typeof finalStatuses)[number];
export type ProcessStatus = (typeof processStatuses)[number];

/** Why a process is in its final state; null where the state says it all. */
export const endReasons = [
  "stopped",
  "signal",
  "chat_deleted",
  "node_drained",
  "agent_stopped",
  "hard_timeout",
  "idle_timeout",
  "log_limit",
  "mem_limit",
  "spawn_error",
  "cwd_not_found",
  "command_refused",
  "queue_ttl",
  "not_delivered",
  "node_rebooted",
  "agent_state_lost",
  "wrapper_killed",
  "unconfirmed",
  "node_deleted",
  "node_gone",
] as const;
export type EndReason = (typeof endReasons)[number];

const finals: ReadonlySet<string> = new Set(finalStatuses);

/** Whether nothing more can happen to a process in this state. */
export const isFinal = (status: ProcessStatus): status is FinalStatus => finals.has(status);

const rank = (status: ProcessStatus): number =>
  isFinal(status) ? 4 : liveStatuses.indexOf(status as (typeof liveStatuses)[number]);

/** Whether a report of `next` may replace `now`: forward only, and `lost` only by a true ending. */
export const mayAdvance = (now: ProcessStatus, next: ProcessStatus): boolean =>
  now === "lost" ? isFinal(next) && next !== "lost" : rank(next) > rank(now);
