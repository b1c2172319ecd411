import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NodeView } from "#shared/api/node.ts";
import { runCli, startCli } from "./run-cli.ts";
import { json, problem, proc, ScriptedServer } from "./scripted-server.ts";

const node = (change: Partial<NodeView> = {}): NodeView => ({
  ...{ id: "node_1", name: "web-1", status: "online", labels: {}, lastSeenAt: null, version: "0.1.0" },
  ...{ os: "linux", arch: "x64", hostname: "h", cpus: 2, memBytes: 2 ** 30, enforces: [], load: null },
  ...{ running: 0, queued: 0, maxProcesses: 256, connectedAt: null, clockSkewMs: null },
  createdAt: "2026-01-01T00:00:00.000Z",
  ...change,
});
const draining = { reason: "new disk", deadlineAt: null };
const lease = { reason: "kernel", expiresAt: "2026-01-01T01:00:00.000Z" };

let server: ScriptedServer;
beforeEach(async () => {
  server = new ScriptedServer();
  await server.start();
});
afterEach(() => server.close());
const cli = (...words: string[]) => runCli(words, { env: server.env, stdin: "ignore" });
const page = (...nodes: NodeView[]) => json({ data: nodes, nextCursor: null });

describe("a wrong call ends with 2 and asks nothing:", () => {
  it.each([
    [["drain", "web-1"], "--reason"],
    [["drain", "--reason", "r"], "by their names, or by a selector"],
    [["drain", "web-1", "-l", "a=b", "--reason", "r"], "by their names, or by a selector"],
    [["drain", "web-1", "--reason", "r", "--deadline", "5"], "is not a duration"],
    [["resume"], "by their names, or by a selector"],
    [["lease", "web-1", "--reason", "r"], "--ttl"],
    [["lease", "web-1", "--reason", "r", "--ttl", "0s"], "longer than nothing"],
    [["label", "web-1"], "say what to change"],
    [["label", "web-1", "env"], "changes nothing"],
    [["label", "web-1", "a b=c"], "label key"],
    [["label", "-l", "a=b"], "missing required argument"],
    [["rm"], "missing required argument"],
    [["unheard-of"], "too many arguments"],
  ])("nodes %j", async (words, text) => {
    const { code, stdout, stderr } = await cli("nodes", ...words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(text);
    expect(server.asked).toEqual([]);
  });
});

describe("drover nodes", () => {
  it("shows what drains and what is leased", async () => {
    server.routes = {
      "GET /v1/nodes": page(
        node({ draining, lease }),
        node({ name: "web-2", status: "offline", draining }),
        node({ name: "web-3" }),
      ),
    };
    const { stdout } = await cli("nodes");
    expect(stdout).toMatch(/web-1 +online draining leased +0\/256/);
    expect(stdout).toMatch(/web-2 +offline draining +0\/256/);
    expect(stdout).toMatch(/web-3 +online +0\/256/);
  });

  it("show tells all of one node, or what the API says", async () => {
    server.routes = { "GET /v1/nodes/web-1": json(node({ draining, lease, labels: { a: "b" } })) };
    const { stdout } = await cli("nodes", "show", "web-1");
    expect(stdout).toMatch(/^status: +online draining leased$/m);
    expect(stdout).toMatch(/^draining: +new disk \(until all has ended\)$/m);
    expect(stdout).toMatch(/^leased: +kernel \(until 2026-01-01T01:00:00.000Z\)$/m);
    expect(stdout).toMatch(/^labels: +a=b$/m);
    expect(JSON.parse((await cli("nodes", "show", "web-1", "-o", "json")).stdout)).toEqual(
      node({ draining, lease, labels: { a: "b" } }),
    );
  });

  it("drain says why and until when, to each node; one that fails does not keep the others", async () => {
    server.routes = { "POST /v1/nodes/web-1/drain": json(node({ draining })) };
    const words = ["nodes", "drain", "web-0", "web-1", "--reason", "new disk", "--deadline", "10m"];
    expect(await cli(...words)).toMatchObject({
      code: 125,
      stdout: "web-1 online draining\n",
      stderr: "drover: web-0: there is no such thing\n",
    });
    expect((await server.got("POST /v1/nodes/web-1/drain")).body).toEqual({
      reason: "new disk",
      deadlineMs: 600_000,
    });
  });

  it("drain -l drains all that match, and says so when none does", async () => {
    server.routes = {
      "GET /v1/nodes": page(node({ name: "web-2" }), node({ name: "web-1" })),
      "POST /v1/nodes/web-1/drain": json(node({ draining })),
      "POST /v1/nodes/web-2/drain": json(node({ draining })),
    };
    const words = ["nodes", "drain", "-l", "env=prod", "--reason", "r"];
    expect(await cli(...words)).toMatchObject({
      code: 0,
      stdout: "web-1 online draining\nweb-2 online draining\n",
    });
    expect((await server.got("GET /v1/nodes")).query.get("selector")).toBe("env=prod");
    server.routes["GET /v1/nodes"] = page();
    expect(await cli(...words)).toMatchObject({ code: 125, stderr: "drover: no node matches env=prod\n" });
  });

  it("drain --wait returns when nothing lives there any more", async () => {
    let running = 1;
    server.routes = {
      "POST /v1/nodes/web-1/drain": json(node({ draining, running })),
      "GET /v1/nodes/web-1": (response, asked) => json(node({ draining, running }))(response, asked),
    };
    const waiting = startCli(["nodes", "drain", "web-1", "--reason", "r", "--wait"], { env: server.env });
    await server.got("GET /v1/nodes/web-1", 2);
    running = 0;
    expect(await waiting.ended).toMatchObject({ code: 0, stdout: "web-1 online draining\nweb-1 drained\n" });
  });

  it("drain --wait ends when somebody resumes the node", async () => {
    server.routes = {
      "POST /v1/nodes/web-1/drain": json(node({ draining, running: 1 })),
      "GET /v1/nodes/web-1": json(node({ running: 1 })),
    };
    expect(await cli("nodes", "drain", "web-1", "--reason", "r", "--wait")).toMatchObject({
      code: 125,
      stderr: "drover: web-1 was resumed meanwhile\n",
    });
  });

  it("resume, rotate-key and rm do so to each node, with options before or behind the verb", async () => {
    server.routes = {
      "POST /v1/nodes/web-1/resume": json(node()),
      "POST /v1/nodes/web-1/rotate-key": json(node()),
      "POST /v1/nodes/web-2/rotate-key": problem(503, "node_offline", "it is away"),
      "DELETE /v1/nodes/web-1": (response) => void response.writeHead(204).end(),
    };
    expect(await cli("nodes", "resume", "web-1")).toMatchObject({ code: 0, stdout: "web-1 online\n" });
    expect(await cli("nodes", "rotate-key", "web-2", "web-1")).toMatchObject({
      code: 255,
      stdout: "web-1 has a new key\n",
      stderr: "drover: web-2: it is away\n",
    });
    const there = ["--url", server.url, "--token", "secret"];
    for (const words of [
      ["nodes", ...there, "rm", "web-1"],
      ["nodes", "rm", ...there, "web-1"],
    ])
      expect(await runCli(words)).toMatchObject({ code: 0, stdout: "web-1 deleted\n" });
  });

  it("label sets and removes, and leaves the other labels", async () => {
    server.routes = {
      "GET /v1/nodes/web-1": json(node({ labels: { env: "dev", spot: "yes", zone: "a" } })),
      "PATCH /v1/nodes/node_1": (response, asked) =>
        json(node(asked.body as Partial<NodeView>))(response, asked),
    };
    expect(await cli("nodes", "label", "web-1", "env=prod", "spot-", "none-", "note=a=b")).toMatchObject({
      code: 0,
      stdout: "web-1 env=prod,zone=a,note=a=b\n",
    });
    expect((await server.got("PATCH /v1/nodes/node_1")).body).toEqual({
      labels: { env: "prod", zone: "a", note: "a=b" },
    });
  });

  it("lease prints the id alone; with --lease it renews", async () => {
    const leased = { leaseId: "lease_1", expiresAt: lease.expiresAt };
    server.routes = { "POST /v1/nodes/web-1/lease": json(leased, 201) };
    const words = ["nodes", "lease", "web-1", "--reason", "kernel", "--ttl", "30m"];
    expect(await cli(...words)).toMatchObject({ code: 0, stdout: "lease_1\n", stderr: "" });
    const asked = await server.got("POST /v1/nodes/web-1/lease");
    expect(asked.body).toEqual({ reason: "kernel", ttlMs: 1_800_000 });
    expect(asked.headers["drover-lease"]).toBeUndefined();
    expect(asked.headers["idempotency-key"]).toMatch(/./);
    expect(JSON.parse((await cli(...words, "--lease", "lease_1", "-o", "json")).stdout)).toEqual(leased);
    expect((await server.got("POST /v1/nodes/web-1/lease", 2)).headers["drover-lease"]).toBe("lease_1");
  });

  it("unlease breaks any lease, or with --lease ends that one only", async () => {
    server.routes = { "DELETE /v1/nodes/web-1/lease": (response) => void response.writeHead(204).end() };
    expect(await cli("nodes", "unlease", "web-1")).toMatchObject({ code: 0, stdout: "" });
    await cli("nodes", "unlease", "web-1", "--lease", "lease_1");
    const named = server.asked.map(({ headers }) => headers["drover-lease"]);
    expect(named).toEqual([undefined, "lease_1"]);
  });

  it("run and exec name the lease they are given", async () => {
    server.routes = {
      "POST /v1/processes": problem(409, "node_leased", "the node is leased until then: kernel"),
    };
    expect(await cli("exec", "-n", "web-1", "--", "x")).toMatchObject({
      code: 125,
      stderr: "drover: the node is leased until then: kernel\n",
    });
    await cli("exec", "-n", "web-1", "--lease", "lease_1", "--", "x");
    server.routes = { "POST /v1/processes": json(proc(), 201) };
    expect(await cli("run", "-n", "web-1", "--lease", "lease_1", "--", "x")).toMatchObject({ code: 0 });
    const named = server.asked.map(({ headers }) => headers["drover-lease"]);
    expect(named).toEqual([undefined, "lease_1", "lease_1"]);
  });
});
