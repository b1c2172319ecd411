import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { NodeView } from "#shared/api/node.ts";
import { isFinal } from "#shared/process-state.ts";
import { Api } from "../support/api.ts";
import { Daemon } from "../support/daemon.ts";
import { Door } from "../support/door.ts";
import { bytesOf, hear } from "../support/event-stream.ts";
import { eventually, temporaryFolder } from "../support/eventually.ts";
import { testDatabase, type TestDatabase } from "../support/postgres.ts";
import { endAllOf } from "../support/sweep.ts";
import { Worker, type WorkerOptions } from "../support/worker.ts";

const folder = temporaryFolder();
const adminToken = `drva_${randomBytes(24).toString("base64url")}`;
let database: TestDatabase;
let options: WorkerOptions;
let worker: Worker;
let agent: Daemon;
let agentDoor: Door;
let api: Api;

beforeAll(async () => {
  database = await testDatabase();
  options = {
    databaseUrl: database.url,
    adminToken,
    secretKey: randomBytes(32).toString("base64"),
    port: 0,
  };
  worker = await Worker.start(options);
  options.port = worker.port;
  api = new Api(worker.url, adminToken);
  const { token } = await api.get<{ token: string }>("POST /v1/join-tokens", { body: { nodeName: "n1" } });
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, DROVER_LOG: "json", DROVER_JOIN_TOKEN: token };
  agentDoor = await Door.open(worker.port, 0);
  const words = [
    "agent",
    "--url",
    `http://127.0.0.1:${agentDoor.port}`,
    "--name",
    "n1",
    "--data-dir",
    join(folder, "agent"),
  ];
  agent = new Daemon(words, { env });
  await agent.seen("link.connected");
  await online();
}, 120_000);

afterEach(({ task }) => {
  if (task.result?.state === "fail")
    console.error(`${worker.log.slice(-8000)}\n--- agent\n${agent.log.slice(-8000)}`);
});

afterAll(async () => {
  agent.kill("SIGKILL");
  await endAllOf(folder);
  await agentDoor.close();
  await worker.kill();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
}, 120_000);

const online = () =>
  eventually(async () => (await api.get<NodeView>("GET /v1/nodes/n1")).status === "online", 60_000);
const start = (command: string, more: Record<string, unknown> = {}) =>
  api.start({ node: "n1", command, ...more });

type Output = { text: string };
const texts = (id: string) => api.output<Output>(id).then(({ text }) => text);

describe("the control plane on Workers", () => {
  it("runs a command on a node and answers with its output", async () => {
    expect(await api.exec({ node: "n1", command: "echo hello; exit 3" })).toMatchObject({
      status: "exited",
      exitCode: 3,
      result: { text: "hello\n" },
    });
  });

  it("follows output as it is written, writes to a stdin, and stops a tree", async () => {
    const { id } = await start("echo ready; while read -r line; do echo got $line; done; sleep 600", {
      stdin: "pipe",
    });
    const heard = hear(api, id);
    await api.printed(id, "ready");
    await api.get(`POST /v1/processes/${id}/stdin`, { body: { text: "one\n" } });
    await api.printed(id, "got one");
    expect(await api.stop(id)).toMatchObject({ status: "killed" });
    expect(bytesOf(await heard).toString()).toBe("ready\ngot one\n");
  });

  it("loses nothing when the object of the node sleeps between two commands", async () => {
    const { id } = await start("read -r line; echo woke $line; exit 4", { stdin: "pipe" });
    await eventually(async () => (await api.process(id)).status === "running");
    await worker.sleep();
    await api.get(`POST /v1/processes/${id}/stdin`, { body: { text: "up\n", eof: true } });
    expect(await api.final(id)).toMatchObject({ status: "exited", exitCode: 4 });
    expect(await texts(id)).toBe("woke up\n");
    await worker.sleep();
    expect(await api.exec({ node: "n1", command: "echo again" })).toMatchObject({
      result: { text: "again\n" },
    });
    expect(agent.log.split("link.connected")).toHaveLength(2);
  });

  it("goes on with a follower while the socket of its node drops and comes back", async () => {
    const { id } = await start("i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.05; done");
    const heard = hear(api, id);
    await api.printed(id, "line 5");
    agentDoor.cut();
    const text = Array.from({ length: 40 }, (_, i) => `line ${i}\n`).join("");
    expect(bytesOf(await heard).toString()).toBe(text);
    expect(await api.final(id)).toMatchObject({ status: "exited", exitCode: 0 });
  });

  it("takes a fan-out from step to step by itself, and tells its reader", async () => {
    const fanout = await api.get<{ id: string }>("POST /v1/fanouts", {
      body: { selector: "n?", process: { command: "sleep 0.2; echo fanned" } },
    });
    expect(await api.get(`GET /v1/fanouts/${fanout.id}`, { query: { waitMs: 30_000 } })).toMatchObject({
      status: "succeeded",
    });
  });

  it("ends by its tick what has waited too long", async () => {
    const { token } = await api.get<{ token: string }>("POST /v1/join-tokens", {
      body: { nodeName: "away" },
    });
    const keyHash = "0".repeat(64);
    await api.get("POST /v1/enroll", { body: { joinToken: token, name: "away", keyHash } });
    const body = { node: "away", command: "true", ifOffline: "queue", queueTtlMs: 1000 };
    const { id } = await api.get("POST /v1/processes", { body });
    await eventually(async () => {
      await worker.tick();
      return (await api.process(id)).status === "expired";
    }, 30_000);
    expect(await api.process(id)).toMatchObject({ status: "expired", reason: "queue_ttl" });
  });

  it("has all processes and output after a deploy, in which all sockets drop", async () => {
    const { id } = await start("echo before; read -r line; echo after; exit 5", { stdin: "pipe" });
    await api.printed(id, "before");
    const short = await start("sleep 1; echo meanwhile");
    const began = await hear(api, id, { until: ({ event }) => event === "output" });
    await worker.kill();
    worker = await Worker.start(options);
    await online();
    await eventually(async () => isFinal((await api.process(short.id)).status), 60_000);
    expect(await api.process(short.id)).toMatchObject({ status: "exited", exitCode: 0 });
    const rest = hear(api, id, { lastEventId: began.at(-1)?.id ?? "" });
    await eventually(async () => (await api.process(id)).status === "running");
    await api.get(`POST /v1/processes/${id}/stdin`, { body: { text: "\n", eof: true } });
    expect(bytesOf(await rest, { from: 7 }).toString()).toBe("after\n");
    expect(await api.final(id)).toMatchObject({ status: "exited", exitCode: 5 });
  }, 120_000);

  it("finds out that a node is gone whose socket went with its object", async () => {
    await worker.kill();
    await agent.end("SIGKILL");
    worker = await Worker.start(options);
    const body = { node: "n1", command: "true" };
    expect(await api.api("POST /v1/processes", { body })).toMatchObject({ status: 201 });
    await eventually(async () => (await api.get<NodeView>("GET /v1/nodes/n1")).status === "unreachable");
    expect(await api.api("POST /v1/processes", { body })).toMatchObject({
      status: 503,
      value: { code: "node_offline" },
    });
  }, 120_000);
});
