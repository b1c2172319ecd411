import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import WebSocket from "ws";
import { acceptAgents } from "../../../../control-plane/entry/node/agent-upgrade.ts";
import type { Link } from "../../../../control-plane/link/link.ts";
import type { AgentSocket } from "../../../../control-plane/link/socket.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, hide: () => {} };

let server: Server;
let port: number;
let asked: { authorization: string; answer: (nodeId: string | undefined) => void }[];
let accepted: AgentSocket[];
let heard: string[];

// The far side of the entry: it answers when the test says so.
const link = (): Pick<Link, "authorize" | "accept"> => ({
  authorize: (authorization) =>
    new Promise((answer) => asked.push({ authorization: authorization ?? "", answer })),
  accept: (_nodeId, socket) => {
    accepted.push(socket);
    return { onText: (text) => heard.push(text), onBinary: () => {}, onClose: () => {} };
  },
});

beforeEach(async () => {
  [asked, accepted, heard] = [[], [], []];
  server = createServer();
  acceptAgents(server, link(), silent);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterEach(() => {
  for (const { answer } of asked) answer(undefined);
  server.close();
});

const dial = (name: string): Socket => {
  const socket = connect(port, "127.0.0.1");
  socket.write(
    `GET /v1/agent HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nAuthorization: ${name}\r\n` +
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
  );
  return socket.on("error", () => {});
};

const open = async (): Promise<WebSocket> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/agent`);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  asked[0]?.answer("node_1");
  await once(socket, "open");
  await vi.waitFor(() => expect(accepted).toHaveLength(1));
  return socket;
};

it("looks up 64 keys at once, and no key of an agent that went while it waited", async () => {
  const first = Array.from({ length: 64 }, (_, index) => dial(`early-${index}`));
  await vi.waitFor(() => expect(asked).toHaveLength(64));
  const gone = dial("gone");
  const connections = async (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  await vi.waitFor(async () => expect(await connections()).toBe(65));
  const waits = dial("waits");
  await vi.waitFor(async () => expect(await connections()).toBe(66));
  expect(asked).toHaveLength(64);
  gone.destroy();
  await vi.waitFor(async () => expect(await connections()).toBe(65));
  for (const { answer } of asked.slice(0, 2)) answer(undefined);
  await vi.waitFor(() => expect(asked.at(-1)?.authorization).toBe("waits"));
  expect(asked.map(({ authorization }) => authorization)).not.toContain("gone");
  for (const socket of [...first, waits]) socket.destroy();
});

it("refuses a key that is not known", async () => {
  const socket = dial("wrong");
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  asked[0]?.answer(undefined);
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /);
  socket.destroy();
});

it("hands frames of every size to the agent whole and in order, and takes them", async () => {
  const socket = await open();
  const got: string[] = [];
  socket.on("message", (data: Buffer) => got.push(data.toString()));
  const texts = [
    "",
    "{}",
    "x".repeat(125),
    "y".repeat(126),
    "ä".repeat(62),
    "é€😀",
    "z".repeat(70_000),
    "end",
  ];
  for (const text of texts) accepted[0]?.send(text);
  await vi.waitFor(() => expect(got).toEqual(texts));
  for (const text of texts) socket.send(text);
  await vi.waitFor(() => expect(heard).toEqual(texts));
  socket.terminate();
});
