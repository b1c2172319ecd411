import { Worker } from "node:worker_threads";
import type { SearchOutcome, SearchTask } from "./search-worker.ts";

/**
 * Owns the thread of search-worker.ts: started by the first task, ended after 10 s without one. Tasks run one after another,
 * each for at most 10 s; then, and when its asker has gone, the thread is ended in the middle of it and the next task gets a
 * new one. The agent's own thread only waits.
 */
export type ThreadLimits = { workMs: number; restMs: number; heapMb: number };
export type ThreadOutcome =
  | SearchOutcome
  | { failed: "too_slow" | "too_large" | "abandoned" | "broken"; detail?: string };

const usual: ThreadLimits = { workMs: 10_000, restMs: 10_000, heapMb: 128 };

export class SearchThread {
  #limits: ThreadLimits;
  #worker: Worker | undefined;
  #rest: NodeJS.Timeout | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(limits: Partial<ThreadLimits> = {}) {
    this.#limits = { ...usual, ...limits };
  }

  /** Whether a thread exists now. */
  get awake(): boolean {
    return this.#worker !== undefined;
  }

  /** Runs a task when those before it are done; an abort ends the waiting at once, and the task with it. */
  run(task: SearchTask, signal: AbortSignal): Promise<ThreadOutcome> {
    return new Promise((resolve) => {
      const abandon = () => resolve({ failed: "abandoned" });
      signal.addEventListener("abort", abandon, { once: true });
      if (signal.aborted) abandon();
      this.#queue = this.#queue
        .then(async () => signal.aborted || resolve(await this.#work(task, signal)))
        // No thread could be started: the next task tries again.
        .catch((error: unknown) => resolve({ failed: "broken", detail: String(error) }))
        .finally(() => signal.removeEventListener("abort", abandon));
    });
  }

  /** Ends the thread, and the task it is at. */
  async close(): Promise<void> {
    clearTimeout(this.#rest);
    await this.#worker?.terminate();
  }

  #work(task: SearchTask, signal: AbortSignal): Promise<ThreadOutcome> {
    const worker = this.#wake();
    return new Promise((resolve) => {
      const settle = (outcome: ThreadOutcome) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abandon);
        worker.removeAllListeners("message").off("exit", onExit).off("error", onError);
        resolve(outcome);
      };
      const giveUp = (failed: "too_slow" | "abandoned") => {
        this.#drop(worker);
        settle({ failed });
      };
      const abandon = () => giveUp("abandoned");
      const onExit = () => settle({ failed: "broken", detail: "the search ended early" });
      const onError = (error: NodeJS.ErrnoException) => settle(failureOf(error));
      const timer = setTimeout(() => giveUp("too_slow"), this.#limits.workMs);
      signal.addEventListener("abort", abandon, { once: true });
      worker
        .once("message", (outcome: SearchOutcome) => {
          this.#letRest(worker);
          settle(outcome);
        })
        .on("exit", onExit)
        .on("error", onError);
      worker.postMessage(task);
    });
  }

  #wake(): Worker {
    clearTimeout(this.#rest);
    this.#worker ??= this.#start();
    this.#worker.ref();
    return this.#worker;
  }

  #start(): Worker {
    const worker = new Worker(workerFile, {
      // Nothing of the agent's environment and options is of use there.
      env: {},
      execArgv: [],
      name: "search",
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMb, maxYoungGenerationSizeMb: 16 },
    });
    const forget = () => {
      if (this.#worker === worker) this.#worker = undefined;
    };
    // An error between two tasks has nobody to tell; the next task gets a new thread.
    return worker.on("error", forget).on("exit", forget);
  }

  #letRest(worker: Worker): void {
    worker.unref();
    this.#rest = setTimeout(() => this.#drop(worker), this.#limits.restMs);
    this.#rest.unref();
  }

  #drop(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined;
    void worker.terminate();
  }
}

const failureOf = (error: NodeJS.ErrnoException): ThreadOutcome =>
  error.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? { failed: "too_large" }
    : { failed: "broken", detail: error.message };

// Beside this file in the sources, and as a bundle of its own beside the chunk that holds this code.
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./search-worker.ts" : "./search-worker.js",
  import.meta.url,
);
