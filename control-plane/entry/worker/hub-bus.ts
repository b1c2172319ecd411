import { newId } from "#shared/ids.ts";
import { pause } from "#shared/pause.ts";
import type { Bus, LocalBus, Topic } from "../../bus/bus.ts";
import type { Log } from "../../needs.ts";
import type { HubPort } from "./hub-port.ts";

/**
 * The bus of one request or object: subscribers here look at once, all others by way of the hub. Topics that are published while a
 * sending is on its way go out together, so a burst costs few calls; one that cannot be sent is dropped.
 *
 * The first subscription opens a line to the hub. Subscribing takes effect here at once and at the hub a moment later, so
 * subscribers look once more when it has: what was published in between is not lost. So do all when a line broke.
 */
export type HubBusNeeds = {
  local: LocalBus;
  hub: HubPort;
  log: Log;
  /** The node whose object publishes. */
  sender?: () => string | undefined;
  keep(work: Promise<unknown>): void;
};

const againMs = 500;

export class HubBus implements Bus {
  readonly #needs: HubBusNeeds;
  readonly #due = new Set<Topic>();
  readonly #counts = new Map<Topic, number>();
  readonly #closing = new AbortController();
  #sending: Promise<void> | undefined;
  #listening: Promise<void> | undefined;
  #line: string | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(needs: HubBusNeeds) {
    this.#needs = needs;
  }

  publish(topic: Topic): void {
    this.#needs.local.publish(topic);
    this.#due.add(topic);
    if (this.#sending !== undefined) return;
    // What is published in this turn of the event loop goes out together.
    this.#sending = Promise.resolve().then(() => this.#sendAll());
    this.#needs.keep(this.#sending);
  }

  subscribe(topic: Topic, look: () => void): () => void {
    const end = this.#needs.local.subscribe(topic, look);
    const count = this.#counts.get(topic) ?? 0;
    this.#counts.set(topic, count + 1);
    if (count === 0) this.#join(topic);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      end();
      this.#leave(topic);
    };
  }

  /** Ends the line. Whatever must happen is begun before this returns. */
  close(): void {
    this.#closing.abort();
    const line = this.#line;
    if (line === undefined) return;
    this.#needs.keep(this.#said(this.#needs.hub.hangUp(line)));
    this.#needs.keep(this.#said(this.#reader?.cancel()));
  }

  async #sendAll(): Promise<void> {
    while (this.#due.size > 0) {
      const topics = [...this.#due];
      this.#due.clear();
      await this.#said(this.#needs.hub.publish(topics, this.#needs.sender?.()));
    }
    this.#sending = undefined;
  }

  #join(topic: Topic): void {
    this.#listening ??= this.#listen();
    // A line that is being opened takes along all there is by then.
    if (this.#line !== undefined) this.#watch(this.#line, [topic]);
  }

  #leave(topic: Topic): void {
    const count = (this.#counts.get(topic) ?? 1) - 1;
    if (count > 0) return void this.#counts.set(topic, count);
    this.#counts.delete(topic);
    if (this.#line !== undefined) this.#needs.keep(this.#said(this.#needs.hub.unwatch(this.#line, [topic])));
  }

  #watch(line: string, topics: Topic[]): void {
    const watched = this.#needs.hub.watch(line, topics).then(() => {
      for (const topic of topics) this.#needs.local.publish(topic);
    });
    this.#needs.keep(this.#said(watched));
  }

  async #listen(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#said(this.#listenOnce());
      await pause(againMs, this.#closing.signal);
    }
  }

  async #listenOnce(): Promise<void> {
    // The subscriptions of this turn of the event loop go along.
    await Promise.resolve();
    const { hub, local } = this.#needs;
    const line = newId("req");
    const topics = [...this.#counts.keys()];
    const stream = await hub.listen(line, topics);
    if (this.#closing.signal.aborted) return hub.hangUp(line);
    this.#line = line;
    const late = [...this.#counts.keys()].filter((topic) => !topics.includes(topic));
    if (late.length > 0) this.#watch(line, late);
    local.publishAll();
    try {
      await this.#hear(stream);
    } finally {
      this.#line = undefined;
    }
  }

  async #hear(stream: ReadableStream<Uint8Array>): Promise<void> {
    this.#reader = stream.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value } = await this.#reader.read();
      if (value === undefined) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const topic of lines) if (topic !== "") this.#needs.local.publish(topic as Topic);
    }
  }

  /** Hints: what fails is logged, and whoever waits looks again after the next one. */
  async #said(call: Promise<unknown> | undefined): Promise<void> {
    try {
      await call;
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#needs.log.warn("bus.hub_failed", { error });
    }
  }
}
