import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { WebSocket } from "ws";
import { describe, expect, it } from "vitest";
import type { LeaseView, NodeView } from "#shared/api/node.ts";
import type { ProcessView } from "#shared/api/process.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { useProduct, type Agent } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "n2", "n3"] });
const agent = (name: string): Agent => {
  const found = product.agents.get(name);
  if (!found) throw new Error(`no agent ${name}`);
  return found;
};
const on = (name: string, verb: string, body: object = {}, headers: Record<string, string> = {}) =>
  product.api.get<NodeView>(`POST /v1/nodes/${name}/${verb}`, { body, headers });
const post = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  product.api.api<ProcessView & { code: string }>("POST /v1/processes", { body, headers });
const running = async (name: string, command: string): Promise<string> => {
  const { id } = await product.api.start({ node: name, cwd: product.folder, command: `echo up; ${command}` });
  await product.api.printed(id, "up");
  return id;
};

describe("a node that drains", () => {
  it("lets what runs end by itself, over restarts of agent and control plane, and takes starts again when resumed", async () => {
    const id = await running("n1", "while [ ! -e go ]; do sleep 0.05; done; exit 4");
    expect(await on("n1", "drain", { reason: "new disk" })).toMatchObject({
      running: 1,
      draining: { reason: "new disk", deadlineAt: null },
    });
    await agent("n1").restart();
    await product.killControlPlane();
    await product.startControlPlane();
    await product.status("n1", "online");
    expect(await product.node("n1")).toMatchObject({ running: 1, draining: { reason: "new disk" } });
    expect(await post({ node: "n1", command: "true" })).toMatchObject({
      status: 409,
      value: { code: "node_draining" },
    });
    const release = await product.api.exec({ node: "n2", cwd: product.folder, command: "touch go" });
    expect(release.exitCode).toBe(0);
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 4 });
    expect(await on("n1", "resume")).not.toHaveProperty("draining");
    expect(await product.api.exec({ node: "n1", command: "exit 3" })).toMatchObject({ exitCode: 3 });
  });

  it("stops at its deadline what still lives there, what was left behind too", async () => {
    const stubborn = await running("n2", "sleep 600 & sleep 600");
    const left = await running("n2", "sleep 600 >/dev/null 2>&1 & exit 0");
    expect(await product.api.final(left)).toMatchObject({ status: "exited" });
    expect((await product.node("n2")).running).toBe(2);
    await on("n2", "drain", { reason: "r", deadlineMs: 300 });
    expect(await product.api.final(stubborn)).toMatchObject({
      status: "killed",
      reason: "node_drained",
      survivors: [],
    });
    await eventually(async () => (await product.node("n2")).running === 0);
    expect(await product.api.process(left)).toMatchObject({ status: "exited", exitCode: 0, survivors: [] });
    await on("n2", "resume");
  });

  it("hears of a deadline that passed while it was away when it is back", async () => {
    const id = await running("n2", "sleep 600");
    await agent("n2").stop();
    await product.status("n2", "offline");
    await on("n2", "drain", { reason: "r", deadlineMs: 0 });
    expect(await product.api.process(id)).toMatchObject({ stale: true });
    await agent("n2").start();
    expect(await product.api.final(id)).toMatchObject({ status: "killed", reason: "node_drained" });
    await on("n2", "resume");
  });

  it("keeps what waits for it, and runs it once it is back and resumed", async () => {
    await agent("n2").stop();
    await product.status("n2", "offline");
    const { id } = await product.api.start({
      node: "n2",
      cwd: product.folder,
      command: "echo run >>waited",
      ifOffline: "queue",
    });
    await on("n2", "drain", { reason: "r" });
    await agent("n2").start();
    await product.status("n2", "online");
    // The node is there, and others on it are refused: what waits has had its chance to be handed out.
    expect((await post({ node: "n2", command: "true", ifOffline: "queue" })).status).toBe(409);
    expect(await product.node("n2")).toMatchObject({ queued: 1, running: 0 });
    await on("n2", "resume");
    expect(await product.api.final(id)).toMatchObject({ status: "exited" });
    expect(readFileSync(join(product.folder, "waited"), "utf8")).toBe("run\n");
  });
});

describe("a node that is leased", () => {
  it("runs what names the lease and nothing else, until it is released", async () => {
    const { leaseId } = await product.api.get<LeaseView>("POST /v1/nodes/n2/lease", {
      body: { reason: "kernel", ttlMs: 600_000 },
    });
    const named = { "drover-lease": leaseId };
    expect(await post({ node: "n2", command: "true" })).toMatchObject({
      status: 409,
      value: { code: "node_leased" },
    });
    const own = await product.api.start({ node: "n2", command: "exit 6" }, named);
    expect(await product.api.final(own.id)).toMatchObject({ status: "exited", exitCode: 6 });
    expect(await product.api.api("DELETE /v1/nodes/n2/lease", { headers: named })).toMatchObject({
      status: 204,
    });
    expect(await product.api.exec({ node: "n2", command: "exit 0" })).toMatchObject({ exitCode: 0 });
  });
});

describe("a node whose key is rotated", () => {
  type Stored = { key: string; nextKey?: string };
  const stored = (): Stored =>
    JSON.parse(readFileSync(join(agent("n3").dataDir, "identity.json"), "utf8")) as Stored;
  /** It is online a moment before it has put away the key that no longer counts. */
  const restarted = async () => {
    await agent("n3").restart();
    await product.status("n3", "online");
    await eventually(() => stored().nextKey === undefined);
  };
  const statusOf = (nodeId: string, key: string): Promise<number> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${product.api.url.replace("http", "ws")}/v1/agent`, {
        headers: { authorization: `Bearer ${nodeId}.${key}` },
      });
      socket.once("unexpected-response", (_, response) => resolve(response.statusCode ?? 0));
      socket.once("open", () => {
        resolve(101);
        socket.terminate();
      });
      socket.on("error", () => socket.terminate());
    });

  it("goes on on its socket, comes back with the new key, and the old one is refused", async () => {
    const { key: old } = stored();
    const { id: nodeId, connectedAt } = await product.node("n3");
    const id = await running("n3", "while [ ! -e go3 ]; do sleep 0.05; done; exit 5");
    expect(await on("n3", "rotate-key")).toMatchObject({ status: "online", connectedAt });
    expect(await statusOf(nodeId, old)).toBe(401);
    const { nextKey } = stored();
    await restarted();
    expect(stored().key).toBe(nextKey);
    expect(agent("n3").daemon?.log).not.toContain(nextKey);
    await product.api.exec({ node: "n3", cwd: product.folder, command: "touch go3" });
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 5 });
    expect(existsSync(join(agent("n3").dataDir, "identity.json.new"))).toBe(false);
  });

  it("can be given one key after the other without connecting in between", async () => {
    for (let n = 0; n < 3; n++) await on("n3", "rotate-key");
    const keys = stored();
    await restarted();
    expect(stored().key).toBe(keys.nextKey);
  });

  it("is not given one while it is away", async () => {
    await agent("n3").stop();
    await product.status("n3", "offline");
    expect(await product.api.api("POST /v1/nodes/n3/rotate-key")).toMatchObject({
      status: 503,
      value: { code: "node_offline" },
    });
  });
});
describe("maintenance from the command line", () => {
  const cli = (...words: string[]) => runCli(words, { env: product.cliEnv, stdin: "ignore" });

  it("leases a node, runs something there, gives it back, and drains it until it is empty", async () => {
    const leased = await cli("nodes", "lease", "n2", "--reason", "kernel", "--ttl", "10m");
    const lease = leased.stdout.trim();
    expect(await cli("exec", "-n", "n2", "--", "true")).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("leased until"),
    });
    const own = await cli("exec", "-n", "n2", "--lease", lease, "-c", "echo mine; exit 9");
    expect(own).toMatchObject({ code: 9, stdout: "mine\n" });
    expect((await cli("nodes", "show", "n2")).stdout).not.toContain(lease);
    expect(await cli("nodes", "unlease", "n2", "--lease", lease)).toMatchObject({ code: 0 });
    await running("n2", "sleep 600");
    const words = ["nodes", "drain", "-l", "name=n2", "--reason", "r", "--deadline", "100ms", "--wait"];
    expect(await cli(...words)).toMatchObject({ code: 0, stdout: "n2 online draining\nn2 drained\n" });
    expect(await cli("nodes", "resume", "n2")).toMatchObject({ code: 0, stdout: "n2 online\n" });
  });
});
