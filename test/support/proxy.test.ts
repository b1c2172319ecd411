import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { Proxy } from "./proxy.ts";

/** One end of a connection with what it heard. */
class End {
  heard = "";
  isOver = false;
  readonly socket: Socket;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1").on("data", (text: string) => (this.heard += text));
    socket.on("error", () => undefined);
    for (const event of ["end", "close"]) socket.on(event, () => (this.isOver = true));
  }

  says(text: string): void {
    this.socket.write(text);
  }

  hears(text: string): Promise<void> {
    return eventually(() => this.heard === text);
  }

  over(): Promise<void> {
    return eventually(() => this.isOver);
  }
}

let server: Server;
let proxy: Proxy;
let ends: End[];

const listening = async (take: (socket: Socket) => void): Promise<Server> => {
  const made = createServer(take);
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  return made;
};
const portOf = (made: Server): number => (made.address() as AddressInfo).port;

/** A connection through the proxy: its two ends. */
const connected = async (): Promise<{ client: End; far: End }> => {
  const before = ends.length;
  const client = new End(connect({ port: proxy.port, host: "127.0.0.1" }));
  await eventually(() => ends.length > before);
  const far = ends.at(-1);
  if (far === undefined) throw new Error("no connection");
  return { client, far };
};

/** Resolves when bytes sent now have got to the server beside the proxy: those that a hole lets through would be there too. */
const bytesByAnotherWay = async (): Promise<void> => {
  const before = ends.length;
  const { socket } = new End(connect({ port: portOf(server), host: "127.0.0.1" }));
  socket.write("by");
  await eventually(() => ends.length > before && ends.at(-1)?.heard === "by");
  socket.destroy();
};

beforeEach(async () => {
  ends = [];
  server = await listening((socket) => ends.push(new End(socket)));
  proxy = await Proxy.to(portOf(server));
});
afterEach(async () => {
  for (const { socket } of ends) socket.destroy();
  await proxy.close();
  server.close();
});

describe("a proxy", () => {
  it("passes bytes and ends in both directions", async () => {
    const { client, far } = await connected();
    client.says("up");
    far.says("down");
    await Promise.all([far.hears("up"), client.hears("down")]);
    client.socket.end();
    await far.over();
  });

  it("cuts the connections there are and takes new ones", async () => {
    const { client, far } = await connected();
    proxy.cut();
    await Promise.all([client.over(), far.over()]);
    const next = await connected();
    next.client.says("again");
    await next.far.hears("again");
  });

  it("that is lowered refuses new connections until it is raised", async () => {
    proxy.lower();
    await new End(connect({ port: proxy.port, host: "127.0.0.1" })).over();
    expect(ends).toEqual([]);
    proxy.raise();
    await connected();
  });

  it("with a hole in both directions holds bytes and ends, of new connections too, and gives them out healed", async () => {
    const { client, far } = await connected();
    proxy.blackhole();
    const late = await connected();
    for (const one of [client, far, late.client]) one.says("held");
    client.socket.end();
    await bytesByAnotherWay();
    expect([client.heard, far.heard, late.far.heard, far.isOver]).toEqual(["", "", "", false]);
    proxy.heal();
    await Promise.all([far.hears("held"), client.hears("held"), late.far.hears("held"), far.over()]);
  });

  it.each(["up", "down"] as const)(
    "with a hole %s only is half open: the other way is free",
    async (hole) => {
      const { client, far } = await connected();
      const [speaker, deaf] = hole === "up" ? [client, far] : [far, client];
      proxy.blackhole(hole);
      speaker.says("into the hole");
      deaf.says("through");
      await speaker.hears("through");
      expect(deaf.heard).toBe("");
      // The end of the one who speaks into the hole is not heard either.
      speaker.socket.destroy();
      await eventually(() => speaker.socket.closed);
      expect(deaf.isOver).toBe(false);
      proxy.heal();
      await deaf.over();
    },
  );

  it("delays without changing the order, also when the delay ends meanwhile", async () => {
    const { client, far } = await connected();
    proxy.delayMs = 300;
    client.says("first ");
    await eventually(() => client.socket.writableLength === 0);
    const before = await connected();
    before.client.says("x");
    proxy.delayMs = 0;
    client.says("second ");
    client.says("third");
    client.socket.end();
    await far.hears("first second third");
    await far.over();
  });

  it.each(["up", "down"] as const)("ends connections after as many bytes %s as it is told", async (way) => {
    const { client, far } = await connected();
    const [speaker, listener] = way === "up" ? [client, far] : [far, client];
    proxy.closeAfter(5);
    speaker.says("123");
    await listener.hears("123");
    speaker.says("4567");
    await Promise.all([listener.over(), speaker.over()]);
    expect(listener.heard).toBe("12345");
    const next = await connected();
    next.client.says("abcdefgh");
    await next.far.over();
    expect(next.far.heard).toBe("abcde");
    proxy.heal();
    const last = await connected();
    last.client.says("abcdefgh");
    await last.far.hears("abcdefgh");
  });

  it("leads new connections elsewhere when its target changes", async () => {
    const { client, far } = await connected();
    const elsewhere: End[] = [];
    const other = await listening((socket) => elsewhere.push(new End(socket)));
    proxy.target = portOf(other);
    const moved = new End(connect({ port: proxy.port, host: "127.0.0.1" }));
    moved.says("new");
    await eventually(() => elsewhere[0]?.heard === "new");
    client.says("old");
    await far.hears("old");
    proxy.cut();
    other.close();
  });

  it("with nobody behind it ends the connection", async () => {
    server.close();
    await eventually(() => !server.listening);
    await new End(connect({ port: proxy.port, host: "127.0.0.1" })).over();
  });
});
