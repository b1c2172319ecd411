import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { execa } from "execa";
import { listeningPorts } from "../../../node-agent/process/ports.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const listen = async (host: string): Promise<number> => {
  const server = createServer();
  servers.push(server);
  server.listen(0, host);
  await once(server, "listening");
  return (server.address() as { port: number }).port;
};

test("a listening socket is found with its port and address, by its process", async () => {
  const port = await listen("127.0.0.1");
  expect(listeningPorts([process.pid])).toContainEqual({ port, pid: process.pid, address: "127.0.0.1" });
  expect(listeningPorts([process.pid], port)).toEqual([{ port, pid: process.pid, address: "127.0.0.1" }]);
});

test("an IPv6 address is written short", async () => {
  const port = await listen("::1");
  expect(listeningPorts([process.pid], port)).toEqual([{ port, pid: process.pid, address: "::1" }]);
});

test("a socket of another process, and one that is closed, are not listed", async () => {
  const port = await listen("127.0.0.1");
  expect(listeningPorts([process.ppid], port)).toEqual([]);
  servers.pop()?.close();
  await expect.poll(() => listeningPorts([process.pid], port)).toEqual([]);
});

test("a socket that a child inherited is listed once, with the process named first", async () => {
  const script =
    'const s = require("net").createServer().listen(0, "127.0.0.1", () => { const c = require("child_process").spawn("sleep", ["300"], { stdio: ["ignore", "ignore", "ignore", s._handle.fd] }); console.log(s.address().port + " " + c.pid); })';
  const parent = execa(process.execPath, ["-e", script], {
    stdin: "ignore",
    buffer: false,
    reject: false,
    killDescendants: true,
    killSignal: "SIGKILL",
  });
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const [port, child] = line.toString().trim().split(" ").map(Number);
    const pids = [parent.pid ?? 0, child ?? 0];
    expect(listeningPorts(pids, port)).toMatchObject([{ port, pid: parent.pid }]);
    expect(listeningPorts(pids.toReversed(), port)).toMatchObject([{ port, pid: child }]);
  } finally {
    parent.kill();
    await parent;
  }
});

test("a process that is gone listens on nothing", () => {
  expect(listeningPorts([2 ** 22 + 1])).toEqual([]);
});
