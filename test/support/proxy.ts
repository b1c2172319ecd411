// A line between two programs that a test can break. `up` is from the one that connects to the one it wants to reach,
// `down` the other way. Breaks hold for the connections there are and for those to come:
//   cut         all connections end at once
//   lower       as cut, and new ones are refused until `raise`
//   blackhole   bytes of a direction, or of both, stay where they are, and so does the news of an end, until `heal`;
//               of one direction only it makes a half-open line: one end hears, the other is deaf
//   delayMs     bytes come later, in their order
//   closeAfter  each connection ends once so many more bytes have passed, in the middle of whatever they are, until `heal`
import { createServer, connect, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { Line, type Direction, type Verdict, type Weather } from "./proxy-line.ts";

export type { Direction, Verdict } from "./proxy-line.ts";

export class Proxy {
  /** Where to; may be changed for connections to come. */
  target: number;
  delayMs = 0;
  /** Judges the text of what passes, such as the frames of a link. */
  judge: (text: string, direction: Direction) => Verdict = () => "pass";
  readonly #server: Server;
  readonly #lines = new Set<Line>();
  readonly #holes = new Set<Direction>();
  #bytesEach = Infinity;
  #isDown = false;
  #opened = 0;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#take(client));
  }

  static async to(target: number): Promise<Proxy> {
    const proxy = new Proxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How many connections there have been. */
  get opened(): number {
    return this.#opened;
  }

  cut(): void {
    for (const line of [...this.#lines]) line.end();
  }

  lower(): void {
    this.#isDown = true;
    this.cut();
  }

  raise(): void {
    this.#isDown = false;
  }

  blackhole(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : (["up", "down"] as const))
      this.#holes.add(direction);
    for (const line of this.#lines) line.obeyHoles();
  }

  closeAfter(bytes: number): void {
    this.#bytesEach = bytes;
    for (const line of this.#lines) line.endAfter(bytes);
  }

  /** Ends holes and counting; the delay is the caller's own. */
  heal(): void {
    this.#holes.clear();
    this.closeAfter(Infinity);
    for (const line of this.#lines) line.obeyHoles();
  }

  async close(): Promise<void> {
    this.lower();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(client: Socket): void {
    client.on("error", () => undefined);
    if (this.#isDown) return void client.resetAndDestroy();
    this.#opened += 1;
    const server = connect({ port: this.target, host: "127.0.0.1", allowHalfOpen: true });
    const line = new Line({ client, server }, this.#weather(), (ended) => this.#lines.delete(ended));
    line.endAfter(this.#bytesEach);
    this.#lines.add(line);
  }

  #weather(): Weather {
    const delayMs = (): number => this.delayMs;
    return {
      get delayMs() {
        return delayMs();
      },
      judge: (text, direction) => this.judge(text, direction),
      hasHole: (direction) => this.#holes.has(direction),
    };
  }
}
