import { DurableObject } from "cloudflare:workers";
import type { Topic } from "../bus/bus.ts";
import type { TickState } from "../scheduler/tick.ts";
import type { Env } from "./worker/env.ts";
import { HubLines } from "./worker/hub-lines.ts";
import type { HubPort } from "./worker/hub-port.ts";
import { type HubWork, openHubWork } from "./worker/hub-work.ts";

/**
 * The one object of a deployment that hears of every change: it tells those who wait for it, and ticks.
 *
 * A tick is due every minute by the cron trigger, and every few seconds, by an alarm, from a change on until nothing that a
 * change may lead to is still to come: fences (30 s), stops that were not heard, a node that becomes offline (3 min). A
 * fleet in which nothing changes costs a tick a minute.
 *
 * What it remembers is made anew after it was moved: lines are opened again by their readers, ticks go by the rows. Only since
 * when this deployment is there, and when was pruned last, is in its storage.
 */
const tickEveryMs = 5000;
const busyForMs = 4 * 60_000;

type Kept = { version: string; since: number; prunedAt: number | null };

export class HubObject extends DurableObject<Env> implements HubPort {
  readonly #lines = new HubLines();
  readonly #work: Promise<HubWork>;
  #kept: Kept;
  #busyUntil = 0;
  #hasAlarm = false;
  #ticking: Promise<void> | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const version = env.VERSION.id;
    const kept = ctx.storage.kv.get<Kept>("kept");
    this.#kept =
      kept?.version === version ? kept : { version, since: Date.now(), prunedAt: kept?.prunedAt ?? null };
    ctx.storage.kv.put("kept", this.#kept);
    const keep = (work: Promise<unknown>): void => ctx.waitUntil(work);
    this.#work = ctx.blockConcurrencyWhile(() =>
      openHubWork(env, { keep, publish: (topic) => keep(this.publish([topic])) }),
    );
  }

  async publish(topics: Topic[], sender?: string): Promise<void> {
    this.#lines.publish(topics);
    const { local, look } = await this.#work;
    for (const topic of topics) {
      local.publish(topic);
      const nodeId = topic.startsWith("node:") ? topic.slice("node:".length) : undefined;
      if (nodeId !== undefined && nodeId !== sender) this.ctx.waitUntil(look(nodeId));
    }
    await this.#beBusy();
  }

  listen(line: string, topics: Topic[]): Promise<ReadableStream<Uint8Array>> {
    return Promise.resolve(this.#lines.open(line, topics));
  }

  watch(line: string, topics: Topic[]): Promise<boolean> {
    return Promise.resolve(this.#lines.watch(line, topics));
  }

  unwatch(line: string, topics: Topic[]): Promise<void> {
    return Promise.resolve(this.#lines.unwatch(line, topics));
  }

  hangUp(line: string): Promise<void> {
    return Promise.resolve(this.#lines.close(line));
  }

  tick(): Promise<void> {
    // One that is under way when the next is due does that one's work, too.
    this.#ticking ??= this.#tick().finally(() => (this.#ticking = undefined));
    return this.#ticking;
  }

  override async alarm(): Promise<void> {
    this.#hasAlarm = false;
    await this.tick();
    if (Date.now() < this.#busyUntil) await this.#wakeSoon();
  }

  async #tick(): Promise<void> {
    const work = await this.#work;
    const { since, prunedAt } = this.#kept;
    const before: TickState = {
      since: new Date(since),
      prunedAt: prunedAt === null ? null : new Date(prunedAt),
    };
    const after = await work.tick(before);
    const prunedNow = after.prunedAt?.getTime() ?? null;
    if (prunedNow === prunedAt) return;
    this.#kept = { ...this.#kept, prunedAt: prunedNow };
    this.ctx.storage.kv.put("kept", this.#kept);
  }

  async #beBusy(): Promise<void> {
    this.#busyUntil = Date.now() + busyForMs;
    if (!this.#hasAlarm) await this.#wakeSoon();
  }

  async #wakeSoon(): Promise<void> {
    this.#hasAlarm = true;
    await this.ctx.storage.setAlarm(Date.now() + tickEveryMs);
  }
}
