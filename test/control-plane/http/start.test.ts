import { describe, expect, it } from "vitest";
import { useService } from "./service.ts";

describe("a start", () => {
  const { service, node } = useService();

  const start = (body: object, path = "/v1/processes", headers = {}) =>
    service.post(path, { node: node.id, command: "true", ...body }, headers);

  it("answers 201 once the row is stored, and the node gets the whole launch", async () => {
    const answer = await start({
      command: "cat",
      env: { A: "b" },
      stdin: { text: "in" },
      cwd: "/tmp",
      timeoutMs: 86_400_000 * 30,
      labels: { a: "b" },
    });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        status: "starting",
        nodeId: node.id,
        command: "cat",
        cwd: "/tmp",
        timeoutMs: 2_592_000_000,
        labels: { a: "b" },
        stale: false,
      },
    });
    expect(node.played.launches).toMatchObject([
      {
        id: answer.body["id"],
        command: "cat",
        env: { A: "b" },
        stdin: { text: "in" },
        timeoutMs: 2_592_000_000,
      },
    ]);
  });

  it("asks for no limit that its node cannot hold: 422 names the field and the node, and nothing is stored", async () => {
    node.played.cut();
    node.played.facts = { enforces: ["memBytes", "memBytes:sampled"] };
    await node.played.connect();
    const before = node.played.launches.length;
    for (const limit of ["pids", "cpuPct"])
      expect(await start({ limits: { memBytes: 2 ** 20, [limit]: 50 } })).toMatchObject({
        status: 422,
        body: { code: "not_supported", field: `limits.${limit}`, node: expect.any(String) },
      });
    const offline = await start({ ifOffline: "queue", limits: { pids: 5 } });
    expect(offline).toMatchObject({ status: 422, body: { code: "not_supported" } });
    expect(node.played.launches).toHaveLength(before);
    expect(await start({ limits: { memBytes: 2 ** 20 } })).toMatchObject({ status: 201 });
    expect(node.played.launches.at(-1)).toMatchObject({ memBytes: 2 ** 20, pids: null });
  });

  it("names a user only where the agent can be another, or its own", async () => {
    const meet = async (facts: object) => {
      node.played.cut();
      node.played.facts = facts;
      await node.played.connect();
    };
    await meet({ user: "drover", enforces: ["memBytes"] });
    const refused = await start({ user: "bob" });
    expect(refused).toMatchObject({ status: 422, body: { code: "not_supported", field: "user" } });
    expect(refused.body["detail"]).toMatch(/its agent runs as drover/);
    expect((await start({ user: "drover" })).status).toBe(201);
    await meet({ user: "root", enforces: ["memBytes", "user"] });
    expect((await start({ user: "bob" })).status).toBe(201);
    expect(node.played.launches.at(-1)).toMatchObject({ user: "bob" });
    await service.send("PUT", "/v1/policy", { users: ["alice"] });
    expect(await start({ user: "bob" })).toMatchObject({ status: 422, body: { rule: "user" } });
    await service.send("PUT", "/v1/policy", {});
  });

  it("takes the most that the policy allows for what it asks, and fails where its node cannot hold that", async () => {
    node.played.cut();
    node.played.facts = { enforces: ["memBytes"] };
    await node.played.connect();
    const policy = async (body: object) => (await service.send("PUT", "/v1/policy", body)).status;
    expect(await policy({ limits: { memBytes: 2 ** 30 } })).toBe(200);
    expect((await start({ limits: { memBytes: 2 ** 31 } })).body).toMatchObject({ rule: "limit" });
    expect((await start({})).status).toBe(201);
    expect(node.played.launches.at(-1)).toMatchObject({ memBytes: 2 ** 30 });
    expect(await policy({ limits: { pids: 100 } })).toBe(200);
    expect((await start({})).body).toMatchObject({ code: "not_supported", field: "limits.pids" });
    await policy({});
  });

  it("keeps env and stdin text out of rows and answers: they are sealed until the ending", async () => {
    const secret = "hunter2-hunter2";
    node.played.onStart = () => {};
    const { body } = await start({ env: { A: secret }, stdin: { text: secret } });
    const id = String(body["id"]);
    const row = await service.needs.store.processes.get(id);
    expect(JSON.stringify([row, body])).not.toContain(secret);
    const sealed = await service.needs.store.processes.sealed(id);
    expect(Buffer.from(sealed ?? []).includes(secret)).toBe(false);
    expect(JSON.parse(await service.needs.seal.open(sealed ?? new Uint8Array(), id))).toEqual({
      env: { A: secret },
      stdinText: secret,
    });
    node.played.exit(id);
    await service.rig.until(id, (now) => now.status === "exited");
    expect(await service.needs.store.processes.sealed(id)).toBeNull();
  });

  it("with waitMs answers the ending with head and tail of the output", async () => {
    node.played.onStart = ({ id }) => {
      node.played.write(id, `${"a".repeat(20_000)}${"b".repeat(20_000)}`);
      node.played.exit(id, { exitCode: 3 });
    };
    const { status, body } = await start({}, "/v1/processes?waitMs=60000");
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: "exited", exitCode: 3, output: { totalBytes: 40_000 } });
    expect(body["result"]).toEqual({
      text: `${"a".repeat(16_384)}${"b".repeat(16_384)}`,
      truncated: {
        originalBytes: 40_000,
        retainedBytes: 32_768,
        omittedBytes: 7232,
        cutLines: 0,
        strategy: "head_tail",
      },
    });
  });

  it("with waitMs of a split process answers both streams apart", async () => {
    node.played.onStart = ({ id }) => {
      node.played.write(id, "out", "stdout");
      node.played.write(id, "err", "stderr");
      node.played.exit(id);
    };
    const { body } = await start({ output: "split" }, "/v1/processes?waitMs=60000");
    expect(body["result"]).toEqual({
      stdout: { text: "out", truncated: null },
      stderr: { text: "err", truncated: null },
    });
  });

  it("whose wait runs out answers the running process with what it wrote so far", async () => {
    node.played.onStart = ({ id }) => {
      node.played.write(id, "so far é".slice(0, -1));
      node.played.write(id, Uint8Array.of(0xc3));
      node.played.report({ id, status: "running" });
    };
    const { status, body } = await start({}, "/v1/processes?waitMs=50");
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: "running", result: { text: "so far ", truncated: null } });
  });

  it("whose client goes away ends the wait and nothing else", async () => {
    const leaving = new AbortController();
    const seen = Promise.withResolvers<string>();
    node.played.onStart = ({ id }) => seen.resolve(id);
    const asked = service.fetch("/v1/processes?waitMs=60000", {
      method: "POST",
      body: JSON.stringify({ node: node.id, command: "true" }),
      headers: { "content-type": "application/json" },
      signal: leaving.signal,
    });
    const id = await seen.promise;
    leaving.abort();
    await asked;
    expect(await service.get(`/v1/processes/${id}`)).toMatchObject({
      status: 200,
      body: { status: "starting" },
    });
    expect(node.played.told.filter((frame) => frame.type === "stop")).toEqual([]);
  });

  it("on an unknown node is 404, on one that is away 503 and stored only if it may queue", async () => {
    expect(await service.post("/v1/processes", { node: "nobody", command: "true" })).toMatchObject({
      status: 404,
    });
    const away = await service.rig.node();
    expect(await service.post("/v1/processes", { node: away.id, command: "true" })).toMatchObject({
      status: 503,
      body: { code: "node_offline" },
    });
    expect((await service.get(`/v1/processes?node=${away.id}`)).body["data"]).toEqual([]);
    const queued = await service.post("/v1/processes", {
      node: away.id,
      command: "true",
      ifOffline: "queue",
    });
    expect(queued).toMatchObject({ status: 201, body: { status: "queued", stale: true } });
  });

  it("with a key that was seen gives the same process, unless its input differs or the key was canceled", async () => {
    const first = await start({ key: "k", env: { A: "1", B: "2" }, labels: { x: "1" } });
    const again = await start({ key: "k", env: { B: "2", A: "1" }, labels: { x: "1" } });
    expect(again).toMatchObject({ status: 200, body: { id: first.body["id"], attached: true } });
    expect(first.body).not.toHaveProperty("attached");
    expect(await start({ key: "k", env: { A: "1", B: "3" }, labels: { x: "1" } })).toMatchObject({
      status: 409,
      body: { code: "idempotency_mismatch" },
    });
    expect(await service.post("/v1/processes/cancel", { node: node.id, key: "fenced" })).toMatchObject({
      status: 200,
      body: { fenced: true, process: null },
    });
    expect(await start({ key: "fenced" })).toMatchObject({ status: 409, body: { code: "start_canceled" } });
    expect(node.played.launches).toHaveLength(1);
  });

  it("with a key that was seen waits for that process, also with waitMs", async () => {
    const first = await start({ key: "w" });
    const waiting = start({ key: "w" }, "/v1/processes?waitMs=60000");
    node.played.write(String(first.body["id"]), "done");
    node.played.exit(String(first.body["id"]));
    expect(await waiting).toMatchObject({
      status: 200,
      body: { attached: true, status: "exited", result: { text: "done" } },
    });
  });

  it("with an Idempotency-Key runs once: the same body gives the same process again, another is 409", async () => {
    const key = { "idempotency-key": "once" };
    const [one, other] = await Promise.all([
      start({}, "/v1/processes", key),
      start({}, "/v1/processes", key),
    ]);
    expect(one.body["id"]).toBe(other.body["id"]);
    expect([one, other].filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(
      1,
    );
    expect(node.played.launches).toHaveLength(1);
    expect(await start({ command: "false" }, "/v1/processes", key)).toMatchObject({
      status: 409,
      body: { code: "idempotency_mismatch" },
    });
    expect(await start({}, "/v1/processes", { "idempotency-key": "x".repeat(256) })).toMatchObject({
      status: 400,
    });
  });

  it("that is refused frees its Idempotency-Key", async () => {
    const key = { "idempotency-key": "refused" };
    const body = { node: node.id, command: "rm -rf /" };
    expect(await service.post("/v1/processes", body, key)).toMatchObject({ status: 422 });
    expect(await service.post("/v1/processes", body, key)).toMatchObject({ status: 422 });
  });
});
