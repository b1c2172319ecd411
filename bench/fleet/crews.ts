// The simulated agents, spread over processes of their own so that they neither share a core's thread nor a descriptor
// table with anything that is measured.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Order, Tally, Told } from "./crew-main.ts";
import { monotonicMs } from "./monotonic.ts";
import type { Identity } from "./simulated-agent.ts";

const agentsACrew = 2500;
const connectsASecond = 500;
const leastBoardingMs = 10_000;
const lookEveryMs = 200;
const startWithinMs = 30_000;

export class Crews {
  readonly size: number;
  readonly #children: ChildProcess[] = [];
  readonly #arrivals = new Map<string, (atMs: number) => void>();
  readonly #early = new Map<string, number>();

  constructor(identities: Identity[], { host, port }: { host: string; port: number }) {
    this.size = identities.length;
    const withinMs = Math.max(leastBoardingMs, (identities.length * 1000) / connectsASecond);
    for (let from = 0; from < identities.length; from += agentsACrew)
      this.#children.push(
        this.#crew({
          type: "board",
          host,
          port,
          identities: identities.slice(from, from + agentsACrew),
          withinMs,
        }),
      );
  }

  /** All that happened since the last tally. */
  async tally(): Promise<Tally> {
    const tallies = await Promise.all(this.#children.map(tallyOf));
    const all: Tally = { live: 0, attemptsAt: [], liveAt: [], pongMs: [], endings: {}, cpuMs: 0 };
    for (const one of tallies) {
      all.live += one.live;
      all.cpuMs += one.cpuMs;
      all.attemptsAt = all.attemptsAt.concat(one.attemptsAt);
      all.liveAt = all.liveAt.concat(one.liveAt);
      all.pongMs = all.pongMs.concat(one.pongMs);
      for (const [why, count] of Object.entries(one.endings))
        all.endings[why] = (all.endings[why] ?? 0) + count;
    }
    return all;
  }

  /** Waits until every agent is live; answers all that happened until then. */
  async allLive(withinMs: number): Promise<Tally> {
    const deadline = monotonicMs() + withinMs;
    const all: Tally = { live: 0, attemptsAt: [], liveAt: [], pongMs: [], endings: {}, cpuMs: 0 };
    for (;;) {
      const part = await this.tally();
      all.attemptsAt = all.attemptsAt.concat(part.attemptsAt);
      all.liveAt = all.liveAt.concat(part.liveAt);
      for (const [why, count] of Object.entries(part.endings))
        all.endings[why] = (all.endings[why] ?? 0) + count;
      if (part.live === this.size) return { ...all, live: part.live, cpuMs: part.cpuMs };
      if (monotonicMs() > deadline)
        throw new Error(
          `only ${part.live} of ${this.size} agents are online after ${withinMs / 1000} s: ${JSON.stringify(all.endings)}`,
        );
      await delay(lookEveryMs);
    }
  }

  /** When the start of this process arrives at its agent. */
  async arrival(processId: string): Promise<number> {
    const early = this.#early.get(processId);
    if (early !== undefined) return early;
    const limit = AbortSignal.timeout(startWithinMs);
    return new Promise((resolve, reject) => {
      this.#arrivals.set(processId, resolve);
      limit.addEventListener("abort", () => reject(new Error(`the start of ${processId} does not arrive`)));
    });
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        const ended = once(child, "exit");
        if (child.exitCode !== null || !child.connected) return;
        child.disconnect();
        await ended;
      }),
    );
  }

  #crew(order: Order): ChildProcess {
    const child = fork(join(import.meta.dirname, "crew-main.ts"), {
      serialization: "advanced",
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    child.setMaxListeners(0);
    child.on("message", (told: Told) => {
      if (told.type === "started") this.#arrived(told.processId, told.atMs);
    });
    child.send(order);
    return child;
  }

  #arrived(processId: string, atMs: number): void {
    this.#early.set(processId, atMs);
    this.#arrivals.get(processId)?.(atMs);
    this.#arrivals.delete(processId);
  }
}

async function tallyOf(child: ChildProcess): Promise<Tally> {
  const answered = new Promise<Tally>((resolve, reject) => {
    const ended = (): void => reject(new Error("a process of simulated agents ended"));
    const listen = (told: Told): void => {
      if (told.type !== "tally") return;
      child.off("message", listen).off("exit", ended);
      resolve(told);
    };
    child.on("message", listen).once("exit", ended);
  });
  child.send({ type: "tally" } satisfies Order);
  return answered;
}
