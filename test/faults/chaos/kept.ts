import { setTimeout as pause } from "node:timers/promises";
import { Daemon } from "../../support/daemon.ts";

const againMs = 300;

type Plan = {
  name: string;
  words: () => string[];
  env: () => Record<string, string>;
  /** What it says when it is there. */
  ready: string;
  heard: (text: string) => void;
  /** It ended though nobody asked it to; `wasReady` is whether it had been there. */
  fell: (end: { name: string; wasReady: boolean; code: number | null; log: string }) => void;
};

/** A program of the product under a service manager: it runs until it is taken down, whatever it dies of. */
export class Kept {
  readonly name: string;
  readonly #plan: Plan;
  #daemon: Daemon | undefined;
  #isWanted = false;
  #life = Promise.resolve();

  constructor(plan: Plan) {
    this.name = plan.name;
    this.#plan = plan;
  }

  get log(): string {
    return this.#daemon?.log ?? "";
  }

  /** Starts it; what it takes to get there is not waited for. */
  up(): void {
    this.#isWanted = true;
    this.#life = this.#live();
  }

  /** Resolves when it has said that it is there. */
  async ready(): Promise<void> {
    while (this.#isWanted && !this.log.includes(this.#plan.ready))
      await (this.#daemon?.seen(this.#plan.ready).catch(() => pause(againMs)) ?? pause(againMs));
  }

  /** Sends a signal and waits until it is gone; it stays down until `up`. */
  async down(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false;
    this.#daemon?.kill(signal);
    await this.#life;
  }

  async #live(): Promise<void> {
    while (this.#isWanted) {
      const daemon = this.#run();
      const { code } = await daemon.ended;
      if (!this.#isWanted) return;
      const { name, fell, ready } = this.#plan;
      fell({ name, wasReady: daemon.log.includes(ready), code, log: daemon.log.slice(-2000) });
      await pause(againMs);
    }
  }

  #run(): Daemon {
    const { words, env, heard } = this.#plan;
    this.#daemon = new Daemon(words(), { env: env(), heard });
    return this.#daemon;
  }
}
