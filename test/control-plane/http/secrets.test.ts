import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { requireSecrets } from "../../../control-plane/actions/require-secrets.ts";
import { runFanout } from "../../../control-plane/actions/run-fanout.ts";
import { sealWith } from "../../../control-plane/secrets/seal.ts";
import { createApp } from "../../../control-plane/app.ts";
import { authorized, useService } from "./service.ts";

const value = "correct-horse-battery";

describe("a named secret", () => {
  const { service, node } = useService();
  const set = (name: string, text = value) => service.post("/v1/secrets", { name, value: text });
  const names = async () =>
    ((await service.get("/v1/secrets")).body["data"] as { name: string }[]).map(({ name }) => name);
  const start = (body: object) => service.post("/v1/processes", { node: node.id, command: "x", ...body });
  const refers = { env: { TOKEN: { secret: "token" }, PLAIN: "1" } };
  const launched = async (id: unknown) => {
    await vi.waitFor(() => expect(node.played.launches.map((launch) => launch.id)).toContain(id));
    return node.played.launches.find((launch) => launch.id === id);
  };
  afterEach(async () => {
    for (const name of await names()) await service.send("DELETE", `/v1/secrets/${name}`);
  });

  it("is stored, replaced, listed without its value and deleted", async () => {
    const stored = await set("token");
    const view = { name: "token", createdAt: expect.any(String), updatedAt: expect.any(String) };
    expect(stored).toMatchObject({ status: 201, body: view });
    expect(await set("token", "another-value")).toMatchObject({
      status: 200,
      body: { name: "token", createdAt: stored.body["createdAt"] },
    });
    await set("a.b-c_1");
    const page = await service.get("/v1/secrets?limit=1");
    expect(page.body).toEqual({ data: [{ ...view, name: "a.b-c_1" }], nextCursor: "a.b-c_1" });
    expect((await service.get("/v1/secrets?limit=1&cursor=a.b-c_1")).body).toEqual({
      data: [view],
      nextCursor: null,
    });
    expect((await service.send("DELETE", "/v1/secrets/token")).status).toBe(204);
    expect(await service.send("DELETE", "/v1/secrets/token")).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  });

  it.each<[string, object, string, RegExp]>([
    ["without a value", { name: "a" }, "value", /./],
    ["too short to be hidden", { name: "a", value: "1234567" }, "value", /at least 8 bytes/],
    ["of line breaks", { name: "a", value: "1234\n\n\n\n\n567" }, "value", /at least 8 bytes/],
    ["of blanks", { name: "a", value: " ".repeat(9) }, "value", /blank/],
    ["too long", { name: "a", value: "x".repeat(48 * 1024 + 1) }, "value", /at most 49152 bytes/],
    ["with a NUL", { name: "a", value: "12345678\0" }, "value", /NUL/],
    ["of a bad name", { name: "a/b", value }, "name", /letters, digits/],
    ["with more", { name: "a", value, more: 1 }, "more", /./],
  ])("%s is refused, and its value is not in the answer", async (_what, body, path, message) => {
    const answer = await service.post("/v1/secrets", body);
    expect(answer).toMatchObject({
      status: 400,
      body: { issues: [{ path, message: expect.stringMatching(message) }] },
    });
    expect(JSON.stringify(answer.body)).not.toMatch(/12345|correct|xxx/);
    expect(await names()).toEqual([]);
  });

  it("takes a value whose bytes, not letters, are enough", async () => {
    expect((await set("a", "ééé€")).status).toBe(201);
  });

  it("goes to the node with the start, with the order to hide it, and is in no row and no answer", async () => {
    await set("token");
    const { status, body } = await start(refers);
    expect(status).toBe(201);
    expect(await launched(body["id"])).toMatchObject({
      env: { TOKEN: value, PLAIN: "1" },
      masks: [value],
    });
    const row = await service.rig.store.processes.get(String(body["id"]));
    const sealed = await service.rig.store.processes.sealed(String(body["id"]));
    const opened = await service.needs.seal.open(sealed ?? new Uint8Array(), String(body["id"]));
    expect(JSON.parse(opened)).toEqual({ env: refers.env });
    expect(JSON.stringify([row, body, service.rig.lines])).not.toContain(value);
  });

  it("that is not there refuses the start, with the name of the variable, before anything is stored", async () => {
    const before = (await service.get("/v1/processes")).body;
    expect(await start(refers)).toMatchObject({
      status: 422,
      body: {
        code: "secret_not_found",
        field: "env.TOKEN",
        detail: "env.TOKEN: there is no secret named token",
      },
    });
    expect(
      await service.post("/v1/fanouts", { selector: "*", process: { command: "x", ...refers } }),
    ).toMatchObject({ status: 422, body: { code: "secret_not_found" } });
    expect((await service.get("/v1/processes")).body).toEqual(before);
  });

  it("may be named by whoever starts processes on a node, and not by a token that is a chat's or some tasks'", async () => {
    await set("token");
    const startAs = async (scope: object) => {
      const { body } = await service.post("/v1/tokens", { name: "t", role: "operator", scope });
      return service.post(
        "/v1/processes",
        { node: node.id, command: "x", ...refers },
        { authorization: `Bearer ${String(body["token"])}` },
      );
    };
    const name = String((await service.get(`/v1/nodes/${node.id}`)).body["name"]);
    expect((await startAs({ selector: `name=${name}` })).status).toBe(201);
    const principal = { ...service.needs, within: { chatId: "chat_x", tasks: undefined } };
    await expect(requireSecrets(principal, refers.env)).rejects.toMatchObject({
      code: "forbidden",
      detail: { field: "env.TOKEN" },
    });
    expect(await requireSecrets(principal, { PLAIN: "1" })).toEqual({ env: { PLAIN: "1" } });
  });

  it("is taken by a start that waited as it is when its turn comes; one that is gone by then fails it", async () => {
    await set("token");
    node.played.cut();
    await vi.waitFor(async () =>
      expect((await service.get(`/v1/nodes/${node.id}`)).body["status"]).not.toBe("online"),
    );
    const [waits, lost] = [
      await start({ ...refers, ifOffline: "queue" }),
      await (async () => {
        await set("other");
        return start({ env: { A: { secret: "other" } }, ifOffline: "queue" });
      })(),
    ];
    expect([waits.body["status"], lost.body["status"]]).toEqual(["queued", "queued"]);
    await set("token", "the-value-of-now");
    await service.send("DELETE", "/v1/secrets/other");
    await node.played.connect();
    expect(await launched(waits.body["id"])).toMatchObject({
      env: { TOKEN: "the-value-of-now" },
      masks: ["the-value-of-now"],
    });
    await service.rig.until(String(lost.body["id"]), (row) => row.status === "failed");
    expect((await service.get(`/v1/processes/${String(lost.body["id"])}`)).body).toMatchObject({
      status: "failed",
      reason: "secret_not_found",
      detail: "env.A: there is no secret named other",
    });
  });

  it("goes with each start of a fan-out, and is not stored with it", async () => {
    await set("token");
    const { status, body } = await service.post("/v1/fanouts", {
      selector: `name=${String((await service.get(`/v1/nodes/${node.id}`)).body["name"])}`,
      process: { command: "x", ...refers },
    });
    expect(status).toBe(201);
    await runFanout(service.needs, String(body["id"]));
    await vi.waitFor(() => expect(node.played.launches.length).toBe(1));
    expect(node.played.launches[0]).toMatchObject({ env: { TOKEN: value, PLAIN: "1" }, masks: [value] });
    expect(JSON.stringify(body)).not.toContain(value);
  });

  it("of a key that is gone refuses the start and names the key; set again it serves", async () => {
    await set("token");
    const seal = await sealWith(Uint8Array.from(randomBytes(32)));
    const app = createApp({ ...service.needs, seal });
    const request = (path: string, body: object) =>
      app.request(path, {
        method: "POST",
        headers: { ...authorized, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const refused = await request("/v1/processes", { node: node.id, command: "x", ...refers });
    expect([refused.status, await refused.json()]).toMatchObject([
      422,
      { code: "secret_unreadable", detail: expect.stringContaining(`the key ${service.needs.seal.keyId}`) },
    ]);
    expect((await request("/v1/secrets", { name: "token", value })).status).toBe(200);
    expect((await request("/v1/processes", { node: node.id, command: "x", ...refers })).status).toBe(201);
  });
});

describe("a secret key that is replaced", () => {
  const { service, node } = useService();

  it("opens what the former one sealed; what is sealed anew needs the former one no more", async () => {
    node.played.cut();
    await vi.waitFor(async () =>
      expect((await service.get(`/v1/nodes/${node.id}`)).body["status"]).not.toBe("online"),
    );
    await service.post("/v1/secrets", { name: "token", value });
    const waits = await service.post("/v1/processes", {
      ...{ node: node.id, command: "x", ifOffline: "queue", key: "k" },
      env: { TOKEN: { secret: "token" } },
    });
    const id = String(waits.body["id"]);
    await service.post("/v1/fanouts", {
      ...{ selector: "*", ifOffline: "queue" },
      process: { command: "y", stdin: { text: "said-on-stdin" } },
    });
    const [older, newer] = [service.needs.seal, Uint8Array.from(randomBytes(32))];
    const both = createApp({
      ...service.needs,
      // The key of the rig is not known here: what it does stands for it.
      seal: {
        ...(await sealWith(newer)),
        open: older.open,
        olderDigests: async (text) => [await older.digest(text)],
      },
    });
    const request = async (path: string, body?: object) => {
      const json = { method: "POST", headers: { ...authorized, "content-type": "application/json" } };
      const answer = await both.request(path, { ...json, body: JSON.stringify(body ?? {}) });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const again = { node: node.id, command: "x", ifOffline: "queue", key: "k" };
    expect(await request("/v1/processes", { ...again, env: { TOKEN: { secret: "token" } } })).toMatchObject({
      status: 200,
      body: { id, attached: true },
    });
    let [cursor, resealed]: [string | null | undefined, number] = [undefined, 0];
    for (; cursor !== null;) {
      const { body } = await request("/v1/secret-key/reseal", cursor === undefined ? {} : { cursor });
      expect(body["unreadable"]).toEqual([]);
      resealed += Number(body["resealed"]);
      cursor = body["nextCursor"] as string | null;
    }
    expect(resealed).toBe(3);
    const alone = await sealWith(newer);
    const { store } = service.rig;
    expect(await alone.open((await store.processes.sealed(id)) ?? new Uint8Array(), id)).toContain("token");
    expect(
      await alone.open(
        (await store.secrets.sealed(["token"])).get("token") ?? new Uint8Array(),
        "secret:token",
      ),
    ).toBe(value);
  });

  it("says what it cannot open, and refuses a cursor that is none", async () => {
    await service.post("/v1/secrets", { name: "token", value });
    const app = createApp({ ...service.needs, seal: await sealWith(Uint8Array.from(randomBytes(32))) });
    const request = async (body: object) => {
      const json = { method: "POST", headers: { ...authorized, "content-type": "application/json" } };
      const answer = await app.request("/v1/secret-key/reseal", { ...json, body: JSON.stringify(body) });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const { body } = await request({ cursor: "secrets/" });
    expect(body).toMatchObject({ resealed: 0, nextCursor: null });
    expect(body["unreadable"]).toContainEqual({
      ...{ kind: "secret", id: "token" },
      keyId: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
    expect((await request({ cursor: "elsewhere" })).status).toBe(400);
  });
});
