import { createParser, type EventSourceMessage } from "eventsource-parser";

export type Event = {
  id: string | undefined;
  event: string | undefined;
  data: { from: number; to: number; text?: string; b64?: string; stream?: string; [name: string]: unknown };
};

/** A client of a stream: takes one event after the other, and may leave. */
export class Reader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #queue: EventSourceMessage[] = [];
  readonly #parser = createParser({ onEvent: (message) => this.#queue.push(message) });
  readonly #decoder = new TextDecoder();

  constructor(response: Response) {
    if (response.body === null) throw new Error(`no stream: ${response.status}`);
    this.#reader = response.body.getReader();
  }

  async next(): Promise<Event | undefined> {
    while (this.#queue.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#parser.feed(this.#decoder.decode(value, { stream: true }));
    }
    const message = this.#queue.shift();
    return message && { id: message.id, event: message.event, data: JSON.parse(message.data) };
  }

  async rest(): Promise<Event[]> {
    const events: Event[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event);
    return events;
  }

  /** The next event of this kind; those before it are passed over. */
  async until(name: string): Promise<Event> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error(`the stream ended before ${name}`);
      if (event.event === name) return event;
    }
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}
