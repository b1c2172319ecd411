import { newId } from "#shared/ids.ts";
import { pause } from "#shared/pause.ts";
import type { LocalBus, Topic } from "../../bus/bus.ts";
import type { Log } from "../../needs.ts";
import type { HubPort } from "./hub-port.ts";

/**
 * The line by which a request hears of topics from the hub, until it is closed. To subscribe takes effect here at once and at the
 * hub a moment later, so subscribers look once more when it has: what was published in between is not lost. A line that
 * breaks, as when the hub is moved, is opened again, and all look.
 */
export type HubLineNeeds = { local: LocalBus; hub: HubPort; log: Log; keep(work: Promise<unknown>): void };

const againMs = 500;

export class HubLine {
  readonly #needs: HubLineNeeds;
  readonly #topics: () => Topic[];
  readonly #closing = new AbortController();
  #id: string | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** `topics`: those that have subscribers now. */
  constructor(needs: HubLineNeeds, topics: () => Topic[]) {
    this.#needs = needs;
    this.#topics = topics;
    // Kept also so that a request whose client leaves lives long enough to hear of it.
    needs.keep(this.#listen());
  }

  watch(topics: Topic[]): void {
    // A line that is being opened takes along all there are by then.
    if (this.#id === undefined) return;
    const look = (): void => topics.forEach((topic) => this.#needs.local.publish(topic));
    this.#tell(this.#needs.hub.watch(this.#id, topics).then(look));
  }

  unwatch(topics: Topic[]): void {
    if (this.#id !== undefined) this.#tell(this.#needs.hub.unwatch(this.#id, topics));
  }

  close(): void {
    this.#closing.abort();
    if (this.#id === undefined) return;
    this.#tell(this.#needs.hub.hangUp(this.#id));
    this.#tell(this.#reader?.cancel());
  }

  async #listen(): Promise<void> {
    // The subscriptions of this turn of the event loop go along.
    await Promise.resolve();
    while (!this.#closing.signal.aborted) {
      await this.#listenOnce().catch((error: unknown) => this.#failed(error));
      this.#id = undefined;
      await pause(againMs, this.#closing.signal);
    }
  }

  async #listenOnce(): Promise<void> {
    const { hub, local } = this.#needs;
    const [id, topics] = [newId("req"), this.#topics()];
    const stream = await hub.listen(id, topics);
    if (this.#closing.signal.aborted) return hub.hangUp(id);
    this.#id = id;
    const late = this.#topics().filter((topic) => !topics.includes(topic));
    if (late.length > 0) this.watch(late);
    local.publishAll();
    this.#reader = stream.getReader();
    for await (const topic of linesOf(this.#reader)) if (topic !== "") local.publish(topic as Topic);
  }

  #tell(call: Promise<unknown> | undefined): void {
    if (call !== undefined) this.#needs.keep(call.catch((error: unknown) => this.#failed(error)));
  }

  /** Whoever waits looks again when the line is open again. */
  #failed(error: unknown): void {
    if (!this.#closing.signal.aborted) this.#needs.log.warn("bus.line_failed", { error });
  }
}

async function* linesOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for (let next = await reader.read(); next.value !== undefined; next = await reader.read()) {
    const lines = (rest + decoder.decode(next.value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
