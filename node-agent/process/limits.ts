import { ticksPerSecond } from "./proc-table.ts";

/**
 * The limits of one process as a rule over what was observed; all times in ms of one monotonic clock.
 * Hard: time since the start. Idle: time since the last progress, where output growth and CPU use count as chosen.
 * A tick that comes late (the machine slept) gives idle clocks that time back.
 */
export type Limits = {
  timeoutMs: number | null;
  idleTimeoutMs: number | null;
  idleOn: readonly ("output" | "cpu")[];
  outputBytes: number | null;
};

export type LimitState = {
  startedMs: number;
  progressMs: number;
  totalBytes: number;
  /** Where the CPU clock was anchored. */
  cpuMs: number;
  cpuTicks: number;
};

export type Verdict = "hard_timeout" | "idle_timeout" | "log_limit" | null;

export const newLimitState = (startedMs: number, nowMs: number): LimitState => ({
  startedMs,
  progressMs: nowMs,
  totalBytes: 0,
  cpuMs: nowMs,
  cpuTicks: 0,
});

export const verdict = (limits: Limits, state: LimitState, nowMs: number): Verdict => {
  if (limits.outputBytes !== null && state.totalBytes > limits.outputBytes) return "log_limit";
  if (limits.timeoutMs !== null && nowMs - state.startedMs >= limits.timeoutMs) return "hard_timeout";
  if (limits.idleTimeoutMs !== null && nowMs - state.progressMs >= limits.idleTimeoutMs)
    return "idle_timeout";
  return null;
};

/** Output growth is progress where it was chosen. */
export const withOutput = (
  limits: Limits,
  state: LimitState,
  totalBytes: number,
  nowMs: number,
): LimitState =>
  totalBytes === state.totalBytes
    ? state
    : { ...state, totalBytes, progressMs: limits.idleOn.includes("output") ? nowMs : state.progressMs };

/** Work is 2 % of a core over the time since the last anchor, and more than one clock tick, which may be chance. */
const busyShare = 0.02;
const leastTicks = 2;

/** How far apart CPU looks are: far enough that a tick is no large share, near enough for short limits. */
export const cpuLookMs = (idleTimeoutMs: number): number => Math.min(1000, Math.max(200, idleTimeoutMs / 4));

export const withCpu = (state: LimitState, cpuTicks: number, nowMs: number): LimitState => {
  const used = cpuTicks - state.cpuTicks;
  const share = (used / ticksPerSecond) * (1000 / Math.max(1, nowMs - state.cpuMs));
  const busy = used >= leastTicks && share >= busyShare;
  return { ...state, cpuMs: nowMs, cpuTicks, progressMs: busy ? nowMs : state.progressMs };
};

/** A clock that stood still is no idleness. */
export const withLostTime = (state: LimitState, lostMs: number): LimitState => ({
  ...state,
  progressMs: state.progressMs + lostMs,
  cpuMs: state.cpuMs + lostMs,
});
