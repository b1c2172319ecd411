import { describe, expect, it } from "vitest";
import { useService } from "./service.ts";
import { Reader } from "./stream-reader.ts";

const { service, node, started } = useService();

type Made = { id: string; token: string; expiresAt: string | null };

const make = async (body: object = {}, headers?: Record<string, string>): Promise<Made> => {
  const answer = await service.post("/v1/tokens", { name: "ci", role: "admin", ...body }, headers);
  expect(answer).toMatchObject({ status: 201, body: { token: expect.any(String) as string } });
  return answer.body as Made;
};
const by = ({ token }: Pick<Made, "token">) => ({ authorization: `Bearer ${token}` });
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

describe("a token", () => {
  it("has 256 random bits behind a prefix, is shown once, and says whose it is", async () => {
    const made = await make({ name: "build server", role: "operator", scope: { selector: "env=ci" } });
    expect(made).toMatchObject({
      id: expect.stringMatching(/^tok_/) as string,
      token: expect.stringMatching(/^drvt_[\w-]{43}$/) as string,
      role: "operator",
      createdBy: null,
      lastUsedAt: null,
    });
    expect((await service.get("/v1/me", by(made))).body).toMatchObject({
      tokenId: made.id,
      name: "build server",
      role: "operator",
      scope: { selector: "env=ci" },
      expiresAt: null,
    });
    const listed = JSON.stringify((await service.get("/v1/tokens")).body);
    expect(listed).toContain(made.id);
    expect(listed).not.toContain(made.token);
    expect(listed).not.toContain("hash");
    const row = await service.needs.store.tokens.find(made.id);
    expect(row?.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(row)).not.toContain(made.token);
  });

  it("is known to have been used, to some minutes: a second request writes nothing", async () => {
    const made = await make();
    const lastUsedAt = async () => (await service.needs.store.tokens.find(made.id))?.lastUsedAt;
    await service.get("/v1/me", by(made));
    const first = await lastUsedAt();
    expect(first).toBeInstanceOf(Date);
    await service.get("/v1/me", by(made));
    expect(await lastUsedAt()).toEqual(first);
    service.rig.clock.aheadMs += 600_000;
    await service.get("/v1/me", by(made));
    expect(await lastUsedAt()).not.toEqual(first);
  });

  it("that is revoked lets nobody in from then on, and is gone", async () => {
    const made = await make();
    expect((await service.get("/v1/me", by(made))).status).toBe(200);
    expect((await service.send("DELETE", `/v1/tokens/${made.id}`)).status).toBe(204);
    expect(await service.get("/v1/me", by(made))).toMatchObject({
      status: 401,
      body: { code: "unauthorized" },
    });
    expect((await service.send("DELETE", `/v1/tokens/${made.id}`)).status).toBe(404);
  });

  it("that has expired lets nobody in, and one that would have expired already is not made", async () => {
    const made = await make({ expiresAt: inMs(service.rig.clock.aheadMs + 3_600_000) });
    expect((await service.get("/v1/me", by(made))).status).toBe(200);
    service.rig.clock.aheadMs += 3_600_001;
    expect((await service.get("/v1/me", by(made))).status).toBe(401);
    expect(
      await service.post("/v1/tokens", { name: "x", role: "viewer", expiresAt: inMs(-1000) }),
    ).toMatchObject({
      status: 400,
      body: { issues: [{ path: "expiresAt", message: "must be in the future" }] },
    });
  });

  it("that is revoked ends the streams and the waits that came with it, and no others", async () => {
    const id = await started();
    const [made, other] = [await make(), await make()];
    const follow = async (token: Made) =>
      new Reader(await service.fetch(`/v1/processes/${id}/events`, { headers: by(token) }));
    const [stream, otherStream] = [await follow(made), await follow(other)];
    expect(await stream.next()).toMatchObject({ event: "start" });
    expect(await otherStream.next()).toMatchObject({ event: "start" });
    const waiting = service.get(`/v1/processes/${id}?waitMs=60000`, by(made));
    await service.send("DELETE", `/v1/tokens/${made.id}`);
    expect(await stream.next()).toBeUndefined();
    expect(await waiting).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    node.played.write(id, "on");
    expect(await otherStream.next()).toMatchObject({ event: "output", data: { text: "on" } });
    await otherStream.leave();
  });

  it("that expires ends them, too", async () => {
    const made = await make({ expiresAt: inMs(service.rig.clock.aheadMs + 1500) });
    const stream = new Reader(await service.fetch("/v1/events", { headers: by(made) }));
    expect(await stream.next()).toMatchObject({ event: "begin" });
    // Whatever else is told until then.
    await stream.rest();
  });

  it("is made once for an Idempotency-Key, and shown to the first call only", async () => {
    const key = { "idempotency-key": "make-it" };
    const made = await make({ name: "once" }, key);
    const again = await service.post("/v1/tokens", { name: "once", role: "admin" }, key);
    expect(again).toMatchObject({ status: 201, body: { id: made.id, secretShown: false } });
    expect(again.body).not.toHaveProperty("token");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  it("has Idempotency-Keys of its own", async () => {
    const key = { "idempotency-key": "shared" };
    const body = { node: node.id, command: "x" };
    const [one, other] = [await make(), await make()];
    const start = (token: Made) => service.post("/v1/processes", body, { ...key, ...by(token) });
    const first = await start(one);
    expect((await start(one)).body["id"]).toBe(first.body["id"]);
    expect((await start(other)).body["id"]).not.toBe(first.body["id"]);
  });

  it.each([
    [{ name: " ", role: "viewer" }, "name"],
    [{ name: "x", role: "owner" }, "role"],
    [{ name: "x" }, "role"],
    [{ name: "x", role: "viewer", expiresAt: "tomorrow" }, "expiresAt"],
    [{ name: "x", role: "viewer", scope: { selector: "a b" } }, "scope.selector"],
    [{ name: "x", role: "viewer", scope: { selector: "" } }, "scope.selector"],
    [{ name: "x", role: "viewer", scope: { chatId: "chat_1" } }, "scope.chatId"],
    [{ name: "x", role: "viewer", scope: { tasks: [] } }, "scope.tasks"],
    [{ name: "x", role: "viewer", scope: { tasks: ["nightly"] } }, "scope.tasks[0]"],
    [{ name: "x", role: "viewer", scope: { nodes: ["n1"] } }, "scope.nodes"],
  ])("%j is refused with the field that is wrong", async (body, path) => {
    expect(await service.post("/v1/tokens", body)).toMatchObject({
      status: 400,
      body: { issues: [{ path }] },
    });
  });
});

describe("who makes tokens", () => {
  const chatId = "chat_01h455vb4pex5vsknk084sn02q";
  const within: [object, object, boolean][] = [
    [{ selector: "env=ci" }, { selector: "env=ci" }, true],
    [{ selector: "env=ci" }, { selector: "zone=a, env=ci" }, true],
    [{ selector: "env=ci" }, { selector: "env=ci", chatId }, true],
    [{ selector: "*" }, {}, true],
    [{ selector: "env=ci" }, {}, false],
    [{ selector: "env=ci" }, { selector: "*" }, false],
    [{ selector: "env=ci" }, { selector: "env in (ci,prod)" }, false],
    [{ chatId }, { chatId }, true],
    [{ chatId }, {}, false],
    [{ chatId }, { chatId: "chat_01h455vb4pex5vsknk084sn02r" }, false],
  ];
  it.each(within)("with the scope %j makes one with %j: %j", async (own, scope, isAllowed) => {
    const maker = await make({ scope: own });
    const answer = await service.post("/v1/tokens", { name: "x", role: "viewer", scope }, by(maker));
    expect(answer).toMatchObject(
      isAllowed
        ? { status: 201, body: { createdBy: maker.id } }
        : { status: 403, body: { code: "forbidden", detail: expect.stringMatching(/^scope\./) as string } },
    );
  });

  it("makes none that lasts longer than its own", async () => {
    const expiresAt = inMs(service.rig.clock.aheadMs + 3_600_000);
    const maker = by(await make({ expiresAt }));
    const status = async (end: object) =>
      (await service.post("/v1/tokens", { name: "x", role: "viewer", ...end }, maker)).status;
    expect(await status({ expiresAt })).toBe(201);
    expect(await status({})).toBe(403);
    expect(await status({ expiresAt: inMs(service.rig.clock.aheadMs + 7_200_000) })).toBe(403);
  });

  it("and has a scope itself sees and revokes only those that it made, and itself", async () => {
    const stranger = await make();
    const maker = await make({ scope: { selector: "env=ci" } });
    const body = { name: "child", role: "viewer", scope: { selector: "env=ci" } };
    const child = (await service.post("/v1/tokens", body, by(maker))).body as Made;
    expect((await service.get("/v1/tokens", by(maker))).body).toMatchObject({
      data: [{ id: child.id }],
      nextCursor: null,
    });
    const revoke = async (id: string) =>
      (await service.send("DELETE", `/v1/tokens/${id}`, undefined, by(maker))).status;
    expect(await revoke(stranger.id)).toBe(404);
    expect(await revoke(child.id)).toBe(204);
    expect(await revoke(maker.id)).toBe(204);
    expect(await revoke(maker.id)).toBe(401);
  });
});
