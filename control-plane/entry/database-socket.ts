import { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/** Where the database package wants to connect to; of several hosts the first. */
type Place = { path: string | false; host: string[]; port: number[] };

/**
 * The sockets under the database pool: one that breaks in the middle of its work only closes.
 *
 * Node tells of an error first and of the close a moment later. In between the package still hands queries to the
 * connection, keeps them over its reconnect, and takes the answers of others for theirs: a select comes back empty, an
 * insert that was never sent counts as done. Told of a close alone it fails all that was under way at once.
 *
 * Until the server has said that it is ready it is the other way round: a query waits for the connection, and told of a close
 * alone the package tries for ever. So an end before that is told as an error, which fails the query.
 */
class ClosingSocket extends Socket {
  #isReady = false;
  #greeting = Buffer.alloc(0);

  constructor() {
    super();
    this.on("data", this.#hear);
  }

  override destroy(error?: Error): this {
    return super.destroy(this.#isReady ? undefined : (error ?? this.#endedEarly()));
  }

  /** Ends without a word: whoever waits for the connection waits on for the next one. */
  giveWay(): void {
    super.destroy();
  }

  // Messages of the server: a letter, then the length with its own four bytes. A lone letter answers the question for TLS,
  // and what follows is not to be read.
  readonly #hear = (bytes: Buffer): void => {
    this.#greeting = Buffer.concat([this.#greeting, bytes]);
    if (this.#greeting.length === 1) return this.#ready();
    while (this.#greeting.length >= 5) {
      if (this.#greeting[0] === readyForQuery) return this.#ready();
      const size = 1 + this.#greeting.readUInt32BE(1);
      if (this.#greeting.length < size) return;
      this.#greeting = this.#greeting.subarray(size);
    }
  };

  #ready(): void {
    this.#isReady = true;
    this.#greeting = Buffer.alloc(0);
    this.off("data", this.#hear);
  }

  // Ending in order is what the package itself does with a connection that nobody waits for.
  #endedEarly(): Error | undefined {
    return this.writableEnded && !this.readableEnded
      ? undefined
      : Object.assign(new Error("the database closed the connection before it was ready"), {
          code: "CONNECTION_CLOSED",
        });
  }
}

const readyForQuery = "Z".charCodeAt(0);

/** Opens a connection to the database; the package waits for it. */
export function databaseSocket({ path, host, port }: Place): Socket {
  const socket = new ClosingSocket();
  void mustSpeak(socket);
  if (path !== false) return socket.connect({ path });
  const place = { host: host[0] ?? "localhost", port: port[0] ?? 5432 };
  // The package names the server by these in TLS and in its errors.
  return Object.assign(socket.connect(place), place);
}

/**
 * What a broken connection left unsent stays in the package's buffer and holds up the greeting of the next one, for ten
 * seconds each time, until there is a kilobyte of it: then it goes out, is refused, and the buffer is empty. The greeting
 * is due within a turn or two, so a silent connection gives way to the next at once.
 */
async function mustSpeak(socket: ClosingSocket): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await turn();
  if (socket.bytesWritten === 0) socket.giveWay();
}
