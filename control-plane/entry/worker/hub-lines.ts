import type { Topic } from "../../bus/bus.ts";

/**
 * The lines by which requests hear of topics. A line gathers what is due for it, each topic once, until it is taken; an
 * empty line of text goes out when nothing else did for a while, and tells the hub when nobody reads any more.
 */
type Line = { topics: Set<Topic>; due: Set<Topic>; wake: () => void; isOver: boolean };

const encoder = new TextEncoder();

export class HubLines {
  readonly #lines = new Map<string, Line>();
  readonly #byTopic = new Map<Topic, Set<Line>>();
  readonly #beatEveryMs: number;

  constructor(beatEveryMs = 15_000) {
    this.#beatEveryMs = beatEveryMs;
  }

  /** The lines that are open. */
  get ids(): string[] {
    return [...this.#lines.keys()];
  }

  open(id: string, topics: Topic[]): ReadableStream<Uint8Array> {
    const line: Line = { topics: new Set(), due: new Set(), wake: () => {}, isOver: false };
    this.#lines.set(id, line);
    this.watch(id, topics);
    return new ReadableStream({
      // Only streams of bytes cross from object to request.
      type: "bytes",
      pull: async (controller) => {
        if (line.due.size === 0 && !line.isOver) await this.#wait(line);
        if (line.isOver) {
          controller.close();
          controller.byobRequest?.respond(0);
          return;
        }
        const text = [...line.due, ""].join("\n");
        line.due.clear();
        controller.enqueue(encoder.encode(text === "" ? "\n" : text));
      },
      cancel: () => this.close(id),
    });
  }

  /** False when there is no such line. */
  watch(id: string, topics: Topic[]): boolean {
    const line = this.#lines.get(id);
    if (line === undefined) return false;
    for (const topic of topics) {
      line.topics.add(topic);
      this.#byTopic.set(topic, (this.#byTopic.get(topic) ?? new Set()).add(line));
    }
    return true;
  }

  unwatch(id: string, topics: Topic[]): void {
    const line = this.#lines.get(id);
    for (const topic of topics) if (line !== undefined) this.#forget(line, topic);
  }

  publish(topics: Topic[]): void {
    for (const topic of topics)
      for (const line of this.#byTopic.get(topic) ?? []) {
        line.due.add(topic);
        line.wake();
      }
  }

  close(id: string): void {
    const line = this.#lines.get(id);
    if (line === undefined) return;
    this.#lines.delete(id);
    for (const topic of [...line.topics]) this.#forget(line, topic);
    line.isOver = true;
    line.wake();
  }

  #forget(line: Line, topic: Topic): void {
    line.topics.delete(topic);
    const lines = this.#byTopic.get(topic);
    lines?.delete(line);
    if (lines?.size === 0) this.#byTopic.delete(topic);
  }

  #wait(line: Line): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#beatEveryMs);
      line.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
