import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openService, type Service } from "./service.ts";

const keyHash = () => createHash("sha256").update(randomBytes(32)).digest("hex");

describe("nodes and how they join", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  const joinToken = async (body: object = {}): Promise<string> =>
    String((await service.post("/v1/join-tokens", body)).body["token"]);
  // The agent has no other token yet, and needs none.
  const enroll = (joinToken: string, name: string, more: object = {}) =>
    service.post("/v1/enroll", { joinToken, name, keyHash: keyHash(), ...more }, { authorization: "" });

  it("a join token is shown once, with the line that starts an agent; only its hash is stored", async () => {
    const { status, body } = await service.post("/v1/join-tokens", { nodeName: "web-1", ttlMs: 60_000 });
    expect(status).toBe(201);
    expect(body["command"]).toBe(
      `npx drover agent --url http://drover.test --token ${String(body["token"])} --name web-1`,
    );
    expect(Date.parse(String(body["expiresAt"]))).toBeGreaterThan(Date.now());
  });

  it("a join token made again under its Idempotency-Key does not show its secret again", async () => {
    const key = { "idempotency-key": "token-once" };
    const first = await service.post("/v1/join-tokens", { labels: { a: "b" } }, key);
    const again = await service.post("/v1/join-tokens", { labels: { a: "b" } }, key);
    expect(again).toMatchObject({
      status: 201,
      body: { secretShown: false, expiresAt: first.body["expiresAt"] },
    });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(JSON.stringify(again.body)).not.toContain(first.body["token"]);
    expect(await service.post("/v1/join-tokens", { labels: { a: "c" } }, key)).toMatchObject({
      status: 409,
      body: { code: "idempotency_mismatch" },
    });
  });

  it("an agent enrols with it and no other token; the same token and key again give the same node", async () => {
    const token = await joinToken({ labels: { env: "prod" } });
    const own = { keyHash: keyHash(), facts: { os: "linux", cpus: 2 }, labels: { zone: "a" } };
    const first = await enroll(token, "enrolled", own);
    expect(first).toMatchObject({ status: 201, body: { name: "enrolled" } });
    expect(await enroll(token, "enrolled", own)).toMatchObject({ status: 200, body: first.body });
    expect(await service.get("/v1/nodes/enrolled")).toMatchObject({
      status: 200,
      body: {
        id: first.body["nodeId"],
        name: "enrolled",
        status: "offline",
        labels: { env: "prod", zone: "a" },
        os: "linux",
        cpus: 2,
        running: 0,
        queued: 0,
        maxProcesses: 256,
        load: null,
      },
    });
  });

  it("a join that is not allowed says why: 401 for the token, 403 for what it does not allow, 409 for a name in use", async () => {
    expect(await enroll("nonsense", "n1")).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    const used = await joinToken();
    await enroll(used, "n1");
    expect(await enroll(used, "n2")).toMatchObject({ status: 401 });
    expect(await enroll(await joinToken({ nodeName: "n3" }), "n4")).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
    expect(await enroll(await joinToken({ allowLabels: false }), "n5", { labels: { a: "b" } })).toMatchObject(
      { status: 403 },
    );
    expect(await enroll(await joinToken(), "n1")).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect(await enroll(await joinToken({ replace: true }), "n1")).toMatchObject({ status: 201 });
  });

  it("nodes are listed by selector and status, page by page", async () => {
    for (const name of ["list-1", "list-2", "list-3"])
      await enroll(await joinToken({ labels: { set: "list", name } }), name);
    const namesOf = (body: Record<string, unknown>): string[] =>
      (body["data"] as { name: string }[]).map(({ name }) => name);
    const page = await service.get("/v1/nodes?selector=set=list&limit=2");
    expect(namesOf(page.body)).toEqual(["list-3", "list-2"]);
    expect(
      namesOf(
        (await service.get(`/v1/nodes?selector=set=list&limit=2&cursor=${String(page.body["nextCursor"])}`))
          .body,
      ),
    ).toEqual(["list-1"]);
    expect(
      namesOf((await service.get(`/v1/nodes?selector=${encodeURIComponent("list-*,!env")}`)).body),
    ).toHaveLength(3);
    expect(namesOf((await service.get("/v1/nodes?selector=set=list&status=online")).body)).toEqual([]);
    const named = await service.get(`/v1/nodes?selector=${encodeURIComponent("!list-1")}`);
    expect(named).toMatchObject({ status: 400, body: { issues: [{ path: "selector" }] } });
    expect(String(named.body["detail"])).toContain("name!=list-1");
    expect((await service.get("/v1/nodes?status=foo")).body["issues"]).toEqual([
      { path: "status", message: "must be one of online, unreachable, offline" },
    ]);
  });

  it("a node is online while its socket lives, unreachable when it broke, offline once the time is over or it said goodbye", async () => {
    const { id, played } = await service.node();
    const status = async () => (await service.get(`/v1/nodes/${id}`)).body["status"];
    expect(await status()).toBe("online");
    played.cut();
    await expect.poll(status).toBe("unreachable");
    service.rig.clock.aheadMs += 180_000;
    expect(await status()).toBe("offline");
    service.rig.clock.aheadMs -= 180_000;
  });

  it("a node gets another name and labels; a name in use is 409", async () => {
    await enroll(await joinToken(), "patch-1");
    await enroll(await joinToken(), "patch-2");
    expect(
      await service.send("PATCH", "/v1/nodes/patch-1", {
        name: "patch-3",
        labels: { a: "b" },
        maxProcesses: 5,
      }),
    ).toMatchObject({ status: 200, body: { name: "patch-3", labels: { a: "b" }, maxProcesses: 5 } });
    expect(await service.send("PATCH", "/v1/nodes/patch-3", { name: "patch-2" })).toMatchObject({
      status: 409,
    });
    expect(await service.get("/v1/nodes/patch-1")).toMatchObject({ status: 404 });
  });

  it("a deleted node is gone: its socket closes, its processes are lost and who waits for them learns it", async () => {
    const { id, played } = await service.node();
    const { body } = await service.post("/v1/processes", { node: id, command: "x" });
    const waiting = service.get(`/v1/processes/${String(body["id"])}?waitMs=60000`);
    expect(await service.send("DELETE", `/v1/nodes/${id}`)).toMatchObject({ status: 204 });
    expect((await waiting).body).toMatchObject({ status: "lost", reason: "node_deleted", exitCode: null });
    await expect.poll(() => service.rig.hub.online(id)).toBe(false);
    expect(await service.get(`/v1/nodes/${id}`)).toMatchObject({ status: 404 });
    expect(played.told.length).toBeGreaterThan(0);
  });

  it("the token's own route says whose it is", async () => {
    expect((await service.get("/v1/me")).body).toMatchObject({
      ...{ tokenId: null, name: "admin", role: "admin", scope: {}, expiresAt: null, version: "0.0.1" },
    });
  });
});
