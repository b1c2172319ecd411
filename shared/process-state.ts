/**
 * A process moves one way: queued → starting → running → stopping → one final state.
 * A report seen twice, late or out of order therefore changes nothing. A final state that was said without having seen the
 * end may be replaced: `lost` (its fate was unknown) by any other, `canceled` and `expired` (it was never to run) by how its
 * node says that it ended. What ran has done what it did, whoever thought it had not.
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
  "secret_not_found",
  "secret_unreadable",
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

/** How much is known, from nothing to the ending. */
const ranks: Record<ProcessStatus, number> = {
  ...{ queued: 0, starting: 1, running: 2, stopping: 3 },
  ...{ lost: 4, canceled: 5, expired: 5 },
  ...{ exited: 6, killed: 6, timed_out: 6, failed: 6 },
};

/** Whether a report of `next` may replace `now`: forward only. */
export const mayAdvance = (now: ProcessStatus, next: ProcessStatus): boolean => ranks[next] > ranks[now];

/** Whether this says that the process never ran and never will. */
export const saysItNeverRan = (status: ProcessStatus): boolean =>
  status === "canceled" || status === "expired";
