import { openFanouts } from "../actions/get-fanout.ts";
import { runFanout } from "../actions/run-fanout.ts";
import type { Needs } from "../needs.ts";

/**
 * Takes the steps of open fan-outs as soon as there is reason to: one was made or steered, a process of it ended, a time has
 * come. What it knows it has from the rows, so nothing is lost with it: ticks alone do the same, only later.
 */
export const startFanoutDriver = (needs: Needs): { stop(): Promise<void> } => {
  const driver = new FanoutDriver(needs);
  driver.lookForOpen();
  return driver;
};

/** A step holds a connection while it decides, and its starts take more. */
const stepsAtOnce = 4;
/** Endings that come together are taken over together. */
const gatherMs = 10;
const busyMs = 250;
const failedMs = 1000;
const longestWaitMs = 60_000;

type Driven = {
  timer: ReturnType<typeof setTimeout> | undefined;
  dueAt: number;
  processes: Map<string, () => void>;
};

class FanoutDriver {
  readonly #needs: Needs;
  readonly #driven = new Map<string, Driven>();
  readonly #due = new Set<string>();
  readonly #stepping = new Map<string, Promise<void>>();
  readonly #unsubscribe: () => void;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #stopped = false;

  constructor(needs: Needs) {
    this.#needs = needs;
    this.#unsubscribe = needs.bus.subscribe(openFanouts, () => this.lookForOpen());
  }

  lookForOpen(): void {
    this.#lookAgain = true;
    this.#looking ??= this.#look()
      // The next tick gives notice again.
      .catch((error: unknown) => this.#needs.log.warn("fanout.look_failed", { error }))
      .finally(() => (this.#looking = undefined));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    for (const id of [...this.#driven.keys()]) this.#leave(id);
    await Promise.all([this.#looking, ...this.#stepping.values()]);
  }

  async #look(): Promise<void> {
    while (this.#lookAgain && !this.#stopped) {
      this.#lookAgain = false;
      const open = new Set(await this.#needs.store.fanouts.open());
      for (const id of this.#driven.keys()) if (!open.has(id)) this.#leave(id);
      for (const id of open) {
        const running = await this.#needs.store.fanouts.running(id);
        if (this.#stopped) return;
        this.#join(id, running);
        this.#wake(id, 0);
      }
    }
  }

  /** Hears of these processes from now on; whether any of them is new. */
  #join(id: string, processIds: string[]): boolean {
    const driven = this.#driven.get(id) ?? { timer: undefined, dueAt: Infinity, processes: new Map() };
    this.#driven.set(id, driven);
    const fresh = processIds.filter((processId) => !driven.processes.has(processId));
    for (const processId of fresh) {
      const heard = (): void => this.#wake(id, gatherMs);
      driven.processes.set(processId, this.#needs.bus.subscribe(`process:${processId}`, heard));
    }
    return fresh.length > 0;
  }

  #leave(id: string): void {
    const driven = this.#driven.get(id);
    this.#driven.delete(id);
    this.#due.delete(id);
    clearTimeout(driven?.timer);
    for (const unsubscribe of driven?.processes.values() ?? []) unsubscribe();
  }

  /** A step is due in so many ms, or earlier if one is due already. */
  #wake(id: string, ms: number): void {
    const driven = this.#driven.get(id);
    const waitMs = Math.min(ms, longestWaitMs);
    const dueAt = performance.now() + waitMs;
    if (driven === undefined || dueAt >= driven.dueAt) return;
    clearTimeout(driven.timer);
    driven.dueAt = dueAt;
    driven.timer = setTimeout(() => {
      driven.dueAt = Infinity;
      this.#due.add(id);
      this.#pump();
    }, waitMs);
  }

  #pump(): void {
    for (const id of this.#due) {
      if (this.#stopped || this.#stepping.size >= stepsAtOnce) return;
      if (this.#stepping.has(id)) continue;
      this.#due.delete(id);
      const over = this.#step(id).finally(() => {
        this.#stepping.delete(id);
        this.#pump();
      });
      this.#stepping.set(id, over);
    }
  }

  async #step(id: string): Promise<void> {
    try {
      const step = await runFanout(this.#needs, id);
      if (step.outcome === "closed") return this.#leave(id);
      if (step.outcome === "busy") return this.#wake(id, busyMs);
      this.#forget(id, step.ended);
      // One that ended before it was heard of gives no notice any more: look once after subscribing.
      if (!this.#stopped && this.#join(id, step.started)) this.#wake(id, gatherMs);
      if (step.lookAt !== null)
        this.#wake(id, Math.max(0, step.lookAt.getTime() - this.#needs.now().getTime()));
    } catch (error) {
      this.#needs.log.warn("fanout.step_failed", { fanoutId: id, error });
      this.#wake(id, failedMs);
    }
  }

  #forget(id: string, processIds: string[]): void {
    const processes = this.#driven.get(id)?.processes;
    for (const processId of processIds) {
      processes?.get(processId)?.();
      processes?.delete(processId);
    }
  }
}
