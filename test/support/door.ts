import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** A fixed place on loopback in front of one that changes; what was behind it is gone when it closes. */
export class Door {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(to: number) {
    this.#server = createServer((from) => this.#join(from, connect(to, "127.0.0.1")));
  }

  static async open(to: number, port: number): Promise<Door> {
    const door = new Door(to);
    await new Promise<void>((resolve, reject) => {
      door.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    return door;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Drops all connections without a word; new ones are let in. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  #join(from: Socket, to: Socket): void {
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true).pipe(other);
      // Every error is followed by `close`.
      one.on("error", () => {});
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}
