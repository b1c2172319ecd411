import {
  cpuLookMs,
  type Limits,
  type LimitState,
  newLimitState,
  type Verdict,
  verdict,
  withCpu,
  withLostTime,
  withOutput,
} from "./limits.ts";
import { uptime } from "./proc-table.ts";

/** The limits of one process on the agent's monotonic clock; the rule itself is in limits.ts. */
export class LimitClock {
  #limits: Limits;
  #state: LimitState | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Starts the clock at a moment given in seconds since boot, which may lie before this agent's start. */
  begin(startedAt: number): void {
    const now = performance.now();
    this.#state = newLimitState(now - (uptime() - startedAt) * 1000, now);
  }

  change(limits: Limits): void {
    this.#limits = limits;
  }

  elapsedMs(): number {
    return this.#state ? performance.now() - this.#state.startedMs : 0;
  }

  outputIs(totalBytes: number): void {
    if (this.#state) this.#state = withOutput(this.#limits, this.#state, totalBytes, performance.now());
  }

  /** Whether CPU counts as progress and was not looked at for long enough. */
  get wantsCpu(): boolean {
    const { idleTimeoutMs, idleOn } = this.#limits;
    if (idleTimeoutMs === null || !idleOn.includes("cpu") || !this.#state) return false;
    return performance.now() - this.#state.cpuMs >= cpuLookMs(idleTimeoutMs);
  }

  cpuIs(ticks: number): void {
    if (this.#state) this.#state = withCpu(this.#state, ticks, performance.now());
  }

  lost(ms: number): void {
    if (this.#state) this.#state = withLostTime(this.#state, ms);
  }

  verdict(): Verdict {
    return this.#state ? verdict(this.#limits, this.#state, performance.now()) : null;
  }
}
