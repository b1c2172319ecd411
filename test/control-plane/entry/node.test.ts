import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createConnection } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { maxFrameBytes, protocolVersion } from "#shared/link/limits.ts";
import { settingsFromEnv, startControlPlane, type ControlPlane } from "../../../control-plane/entry/node.ts";
import { testDatabase, type TestDatabase } from "../../support/postgres.ts";

const silent = (): void => {};

describe("a control plane on Node", () => {
  let folder: string;
  let database: TestDatabase;
  const running: ControlPlane[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "drover-entry-"));
    database = await testDatabase();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((controlPlane) => controlPlane.close()));
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const settings = (env: Record<string, string> = {}) =>
    settingsFromEnv(
      { DATABASE_URL: database.url, DROVER_DATA_DIR: folder, DROVER_LOG: "json", ...env },
      { port: "0" },
    );
  const start = async (env: Record<string, string> = {}): Promise<ControlPlane> => {
    const controlPlane = await startControlPlane(settings(env), silent);
    running.push(controlPlane);
    return controlPlane;
  };
  const call = async (
    url: string,
    path: string,
    { token, body, signal }: { token?: string; body?: object; signal?: AbortSignal } = {},
  ) => {
    const answer = await fetch(`${url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const enrolled = async (url: string): Promise<{ nodeId: string; key: string }> => {
    const { body } = await call(url, "/v1/join-tokens", { token: "token", body: {} });
    const key = "k".repeat(43);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
    const node = await call(url, "/v1/enroll", {
      body: { joinToken: body["token"], name: "n", keyHash: Buffer.from(digest).toString("hex") },
    });
    return { nodeId: String(node.body["nodeId"]), key };
  };
  const dial = (url: string, authorization: string): WebSocket =>
    new WebSocket(`${url.replace("http", "ws")}/v1/agent`, { headers: { authorization } });
  const hello = {
    type: "hello",
    protocol: protocolVersion,
    version: "0",
    instanceId: "i",
    machineId: "m",
    bootId: "b",
    facts: {},
    inventory: [],
  };

  it("answers where it says, with the token it made for its owner only, the same after a restart", async () => {
    const first = await start();
    const token = (await readFile(join(folder, "admin-token"), "utf8")).trim();
    expect(await call(first.url, "/v1/me", { token })).toMatchObject({ status: 200 });
    expect(await call(first.url, "/readyz")).toMatchObject({ status: 200 });
    await first.close();
    await expect(call(first.url, "/healthz")).rejects.toThrow("fetch failed");
    expect(await call((await start()).url, "/v1/me", { token })).toMatchObject({ status: 200 });
  });

  it("takes an agent with its key and no other, and answers pings", async () => {
    const { url } = await start({ DROVER_ADMIN_TOKEN: "token" });
    const { nodeId, key } = await enrolled(url);
    const refused = dial(url, `Bearer ${nodeId}.wrong`);
    const [, response] = (await once(refused, "unexpected-response")) as [unknown, { statusCode: number }];
    expect(response.statusCode).toBe(401);
    const agent = dial(url, `Bearer ${nodeId}.${key}`);
    await once(agent, "open");
    agent.send(JSON.stringify(hello));
    expect(JSON.parse(String((await once(agent, "message"))[0]))).toMatchObject({ type: "welcome", nodeId });
    agent.send(JSON.stringify({ type: "ping" }));
    await expect
      .poll(async () => (await call(url, "/v1/nodes/n", { token: "token" })).body["status"])
      .toBe("online");
    const other = dial(url.replace("/v1", ""), `Bearer ${nodeId}.${key}`);
    other.on("error", () => {});
    agent.close();
    other.close();
    await once(agent, "close");
  });

  it("closes a socket whose frame is too large (1009) and no other", async () => {
    const { url } = await start({ DROVER_ADMIN_TOKEN: "token" });
    const { nodeId, key } = await enrolled(url);
    const agent = dial(url, `Bearer ${nodeId}.${key}`);
    await once(agent, "open");
    agent.send("x".repeat(maxFrameBytes + 1));
    expect((await once(agent, "close"))[0]).toBe(1009);
    expect(await call(url, "/healthz")).toMatchObject({ status: 200 });
  });

  it("answers a request that is no proper HTTP as such and lives on", async () => {
    const { url, port } = await start();
    for (const request of ["GET / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"]) {
      const socket = createConnection({ host: "127.0.0.1", port });
      socket.end(request);
      expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 400/);
      socket.destroy();
    }
    expect(await call(url, "/healthz")).toMatchObject({ status: 200 });
  });

  it("ends long polls with what is so far, streams without `end`, and agents with 1001 when it closes", async () => {
    const controlPlane = await start({ DROVER_ADMIN_TOKEN: "token" });
    const { url } = controlPlane;
    const { nodeId, key } = await enrolled(url);
    const agent = dial(url, `Bearer ${nodeId}.${key}`);
    await once(agent, "open");
    agent.send(JSON.stringify(hello));
    await expect
      .poll(async () => (await call(url, "/v1/nodes/n", { token: "token" })).body["status"])
      .toBe("online");
    const made = await call(url, "/v1/processes", { token: "token", body: { node: "n", command: "x" } });
    const id = String(made.body["id"]);
    const polled = call(url, `/v1/processes/${id}?waitMs=300000`, { token: "token" });
    const stream = await fetch(`${url}/v1/processes/${id}/events`, {
      headers: { authorization: "Bearer token" },
    });
    const ended = once(agent, "close");
    await controlPlane.close();
    expect(await polled).toMatchObject({ status: 200, body: { id, status: "starting" } });
    expect(await stream.text()).not.toContain("event: end");
    expect((await ended)[0]).toBe(1001);
  });

  it("that cannot start says why in one readable line and leaves nothing open", async () => {
    const busy = createServer().listen(0, "127.0.0.1");
    await once(busy, "listening");
    const { port } = busy.address() as { port: number };
    await expect(startControlPlane({ ...settings(), port }, silent)).rejects.toMatchObject({
      name: "SettingError",
      message: expect.stringContaining(`port ${port}`),
    });
    busy.close();
    const unreachable = settings({ DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${port}/none` });
    const refused: unknown = await startControlPlane(unreachable, silent).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: "SettingError", message: expect.stringContaining("DATABASE_URL") });
    expect(String(refused)).not.toContain("hunter2");
  });
});
