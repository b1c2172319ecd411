import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export type Direction = "up" | "down";
/** What happens to bytes that pass: on their way, or the line ends before or after them. */
export type Verdict = "pass" | "cut before" | "cut after";

/** What a line asks its proxy about, each time anew. */
export type Weather = {
  delayMs: number;
  judge: (text: string, direction: Direction) => Verdict;
  hasHole: (direction: Direction) => boolean;
};

const directions = ["up", "down"] as const;
const opposite = { up: "down", down: "up" } as const;

/** One connection through a proxy: what comes in at one end goes out at the other. */
export class Line {
  /** Where the bytes of a direction come in: those that go up at the client's socket. */
  readonly #sources: Record<Direction, Socket>;
  readonly #queues = { up: inOrder(), down: inOrder() };
  readonly #weather: Weather;
  readonly #onEnd: (line: Line) => void;
  #bytesLeft = Infinity;

  constructor(ends: { client: Socket; server: Socket }, weather: Weather, onEnd: (line: Line) => void) {
    this.#sources = { up: ends.client, down: ends.server };
    this.#weather = weather;
    this.#onEnd = onEnd;
    for (const direction of directions) this.#join(direction);
  }

  /** Bytes of the directions with a hole stay where they are; those of the others flow. */
  obeyHoles(): void {
    for (const direction of directions)
      if (this.#weather.hasHole(direction)) this.#sources[direction].pause();
      else this.#sources[direction].resume();
  }

  endAfter(bytes: number): void {
    this.#bytesLeft = bytes;
  }

  end(): void {
    this.#onEnd(this);
    for (const direction of directions) this.#sources[direction].destroy();
  }

  #join(direction: Direction): void {
    const source = this.#sources[direction];
    const sink = this.#sources[opposite[direction]];
    source.on("data", (bytes: Buffer) => this.#pass(direction, bytes));
    source.on("end", () => this.#later(direction, () => sink.end()));
    // An error of one side (its program was killed) reaches the other one, but not through a hole.
    source.on("error", () => void (this.#weather.hasHole(direction) || this.end()));
    source.on("close", () => void (source.destroyed && sink.destroyed && this.#onEnd(this)));
    if (this.#weather.hasHole(direction)) source.pause();
  }

  #pass(direction: Direction, bytes: Buffer): void {
    const verdict = this.#weather.judge(bytes.toString("latin1"), direction);
    if (verdict === "cut before") return this.end();
    const sink = this.#sources[opposite[direction]];
    const part = bytes.subarray(0, this.#bytesLeft);
    this.#bytesLeft -= part.length;
    const isLast = verdict === "cut after" || this.#bytesLeft === 0;
    this.#later(direction, () => {
      if (!sink.destroyed && part.length > 0) sink.write(part);
      if (isLast) sink.end(() => this.end());
    });
  }

  #later(direction: Direction, act: () => void): void {
    this.#queues[direction](this.#weather.delayMs, act);
  }
}

/** Does things after their delay and never before those that came before them, however the delays differ. */
function inOrder(): (delayMs: number, act: () => void) => void {
  let last = Promise.resolve();
  let waiting = 0;
  return (delayMs, act) => {
    if (delayMs === 0 && waiting === 0) return act();
    waiting += 1;
    const due = performance.now() + delayMs;
    last = last
      .then(() => pause(Math.max(0, due - performance.now())))
      .then(() => {
        waiting -= 1;
        act();
      });
  };
}
