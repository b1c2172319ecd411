// A line between two programs that a test can break. `up` is from the one that connects to the one it wants to reach,
// `down` the other way. Breaks hold for the connections there are and for those to come:
//   cut        all connections end at once
//   down       as cut, and new ones are refused until `raise`
//   blackhole  bytes of a direction stay where they are, and so does the news of an end, until `heal`
//   delay      bytes come later, in their order
import { createServer, connect, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

export type Direction = "up" | "down";
/** What happens to bytes that pass: on their way, or the line ends before or after them. */
export type Verdict = "pass" | "cut before" | "cut after";

type Line = { client: Socket; server: Socket };

export class Proxy {
  /** Where to; may be changed for connections to come. */
  target: number;
  delayMs = 0;
  /** Judges the text of what passes, such as the frames of a link. */
  judge: (text: string, direction: Direction) => Verdict = () => "pass";
  readonly #server: Server;
  readonly #lines = new Set<Line>();
  readonly #holes = new Set<Direction>();
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
    for (const line of [...this.#lines]) this.#end(line);
  }

  lower(): void {
    this.#isDown = true;
    this.cut();
  }

  raise(): void {
    this.#isDown = false;
  }

  blackhole(direction: Direction): void {
    this.#holes.add(direction);
    for (const line of this.#lines) sourceOf(line, direction).pause();
  }

  heal(): void {
    this.#holes.clear();
    for (const line of this.#lines)
      for (const direction of ["up", "down"] as const) sourceOf(line, direction).resume();
  }

  async close(): Promise<void> {
    this.lower();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(client: Socket): void {
    client.on("error", () => undefined);
    if (this.#isDown) return void client.resetAndDestroy();
    this.#opened += 1;
    const line = { client, server: connect({ port: this.target, host: "127.0.0.1", allowHalfOpen: true }) };
    this.#lines.add(line);
    this.#join(line, "up");
    this.#join(line, "down");
  }

  #join(line: Line, direction: Direction): void {
    const source = sourceOf(line, direction);
    const sink = sourceOf(line, direction === "up" ? "down" : "up");
    source.on("data", (bytes: Buffer) => this.#pass(line, direction, bytes));
    source.on("end", () => this.#later(() => sink.end()));
    // An error of one side (its program was killed) reaches the other one, but not through a hole.
    source.on("error", () => void (this.#holes.has(direction) || this.#end(line)));
    source.on("close", () => void (source.destroyed && sink.destroyed && this.#lines.delete(line)));
    if (this.#holes.has(direction)) source.pause();
  }

  #pass(line: Line, direction: Direction, bytes: Buffer): void {
    const verdict = this.judge(bytes.toString("latin1"), direction);
    if (verdict === "cut before") return this.#end(line);
    const sink = sourceOf(line, direction === "up" ? "down" : "up");
    this.#later(() => void (sink.destroyed || sink.write(bytes)));
    if (verdict === "cut after") sink.end(() => this.#end(line));
  }

  #later(act: () => void): void {
    if (this.delayMs === 0) act();
    else setTimeout(act, this.delayMs);
  }

  #end(line: Line): void {
    this.#lines.delete(line);
    line.client.destroy();
    line.server.destroy();
  }
}

const sourceOf = (line: Line, direction: Direction): Socket =>
  direction === "up" ? line.client : line.server;
