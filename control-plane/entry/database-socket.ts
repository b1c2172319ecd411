import { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/** Where the database package wants to connect to; of several hosts the first. */
type Place = { path: string | false; host: string[]; port: number[] };

/**
 * The sockets under the database pool: one that breaks only closes.
 *
 * Node tells of an error first and of the close a moment later. In between the package still hands queries to the
 * connection, keeps them over its reconnect, and takes the answers of others for theirs: a select comes back empty, an
 * insert that was never sent counts as done. Told of a close alone it fails all that was under way at once. What goes
 * wrong before there is a connection is told as it is: nothing is handed to it yet.
 */
class ClosingSocket extends Socket {
  #isConnected = false;

  constructor() {
    super();
    this.once("connect", () => (this.#isConnected = true));
  }

  override destroy(error?: Error): this {
    return super.destroy(this.#isConnected ? undefined : error);
  }
}

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
async function mustSpeak(socket: Socket): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await turn();
  if (socket.bytesWritten === 0) socket.destroy();
}
