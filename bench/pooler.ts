// What Hyperdrive is to a Worker: a server that keeps connections to Postgres open and lends each to one client after another.
// The first client of a connection greets the database itself; to a later one the pooler repeats what the database said then,
// which is true because all clients are the same user with the same parameters. Between two clients a connection is reset.

import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A connection that nobody has, and the greeting of the database on it, from AuthenticationOk to ReadyForQuery. */
type Idle = { socket: Socket; greeting: Buffer };

const sslRequest = 80_877_103;
const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const farewell = Buffer.from("X\0\0\0\x04", "latin1");
const discardAll = Buffer.from("Q\0\0\0\x10DISCARD ALL\0", "latin1");

export type Pooler = { url: string; close(): Promise<void> };

export async function startPooler(databaseUrl: string): Promise<Pooler> {
  const { hostname, port } = new URL(databaseUrl);
  const idle: Idle[] = [];
  const open = new Set<Socket>();
  const upstream = (): Socket => keep(connect({ host: hostname, port: Number(port), noDelay: true }));
  const keep = (socket: Socket): Socket => {
    open.add(socket.on("close", () => open.delete(socket)).on("error", () => socket.destroy()));
    return socket.setNoDelay(true);
  };
  const server = createServer((client) => void serve(keep(client), { idle, upstream }));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

async function serve(client: Socket, pool: { idle: Idle[]; upstream: () => Socket }): Promise<void> {
  const startup = await startupOf(client);
  if (startup === undefined) return;
  const lent = pool.idle.pop() ?? { socket: pool.upstream(), greeting: undefined };
  if (lent.greeting === undefined) lent.socket.write(startup);
  else client.write(lent.greeting);
  const greeting = await join({ client, ...lent });
  if (greeting === undefined) return void lent.socket.destroy();
  await reset(lent.socket);
  pool.idle.push({ socket: lent.socket, greeting });
}

type Pair = { client: Socket; socket: Socket; greeting: Buffer | undefined };

/** Lets the two speak until the client leaves; the greeting that was heard, or known before. */
async function join({ client, socket, ...known }: Pair): Promise<Buffer | undefined> {
  let { greeting } = known;
  let heard = Buffer.alloc(0);
  const hear = (bytes: Buffer): void => {
    client.write(bytes);
    if (greeting !== undefined) return;
    heard = Buffer.concat([heard, bytes]);
    greeting = greetingIn(heard);
  };
  socket.on("data", hear);
  client.on("data", (bytes: Buffer) => socket.write(withoutFarewell(bytes)));
  await once(client, "close");
  socket.off("data", hear);
  return greeting;
}

/** What ends the client's connection is not to end the one it was lent. Nothing follows it. */
const withoutFarewell = (bytes: Buffer): Buffer =>
  bytes.subarray(-farewell.length).equals(farewell) ? bytes.subarray(0, -farewell.length) : bytes;

/** The first message of a client that speaks without TLS. */
async function startupOf(client: Socket): Promise<Buffer | undefined> {
  for await (const [bytes] of onData(client)) {
    if (bytes.readUInt32BE(4) !== sslRequest) return bytes;
    client.write("N");
  }
  return undefined;
}

async function* onData(socket: Socket): AsyncGenerator<[Buffer]> {
  while (!socket.destroyed) {
    const [bytes] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [unknown];
    if (!Buffer.isBuffer(bytes)) return;
    yield [bytes];
  }
}

const greetingIn = (heard: Buffer): Buffer | undefined => {
  const from = heard.indexOf(authenticationOk);
  return from >= 0 && heard.subarray(-readyForQuery.length).equals(readyForQuery)
    ? heard.subarray(from)
    : undefined;
};

/** Whatever the last client left open is gone then. */
async function reset(socket: Socket): Promise<void> {
  socket.write(discardAll);
  let said = Buffer.alloc(0);
  while (!said.subarray(-readyForQuery.length).equals(readyForQuery)) {
    const [bytes] = (await once(socket, "data")) as [Buffer];
    said = Buffer.concat([said, bytes]);
  }
}
