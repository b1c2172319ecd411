import { createHash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { tick } from "../../../control-plane/scheduler/tick.ts";
import { useService } from "./service.ts";

const minute = 60_000;
const hash = (text: string) => createHash("sha256").update(text).digest("hex");

const { service, node } = useService();
afterEach(() => {
  service.rig.clock.aheadMs = 0;
});

const post = (verb: string, body: object = {}, headers: Record<string, string> = {}) =>
  service.post(`/v1/nodes/${node.id}/${verb}`, body, headers);
const view = async () => (await service.get(`/v1/nodes/${node.id}`)).body;
const start = (change: object = {}, headers: Record<string, string> = {}) =>
  service.post("/v1/processes", { node: node.id, command: "true", ...change }, headers);
const idOf = ({ body }: { body: Record<string, unknown> }) => String(body["id"]);
const statusOf = async (id: string) => (await service.get(`/v1/processes/${id}`)).body["status"];
const tickAfter = (ms: number) => {
  service.rig.clock.aheadMs = ms;
  return tick(service.needs, { since: new Date(), prunedAt: new Date() });
};
const stops = () => node.played.told.filter((frame) => frame.type === "stop");
const launched = () => node.played.launches.map(({ id }) => id);

describe("draining", () => {
  it("shows in the node until it is resumed; both may be said twice", async () => {
    expect(await view()).not.toHaveProperty("draining");
    const first = await post("drain", { reason: "new disk", deadlineMs: minute });
    expect(first).toMatchObject({ status: 200, body: { draining: { reason: "new disk" } } });
    const { deadlineAt } = first.body["draining"] as { deadlineAt: string };
    expect(Math.abs(Date.parse(deadlineAt) - Date.now() - minute)).toBeLessThan(minute);
    await post("drain", { reason: "and a new fan" });
    expect(await view()).toMatchObject({ draining: { reason: "and a new fan", deadlineAt: null } });
    expect(await post("resume")).toMatchObject({ status: 200, body: { id: node.id, status: "online" } });
    expect((await post("resume")).body).not.toHaveProperty("draining");
  });

  it.each([{}, { ifOffline: "queue" }, { key: "k" }])(
    "refuses a start (%j) with 409 and stores nothing, on a node that is away too",
    async (change) => {
      await post("drain", { reason: "new disk" });
      const refused = {
        status: 409,
        body: { code: "node_draining", reason: "new disk", deadlineAt: null },
      };
      const check = (answer: object) =>
        expect(answer).toMatchObject({
          ...refused,
          body: { ...refused.body, detail: expect.stringMatching(/drains.*new disk/) },
        });
      check(await start(change));
      node.played.cut();
      await expect.poll(() => service.rig.hub.online(node.id)).toBe(false);
      check(await start(change));
      expect((await service.get(`/v1/processes?node=${node.id}`)).body["data"]).toEqual([]);
    },
  );

  it("answers a repeat of what was started before with what it started", async () => {
    const once = { "idempotency-key": newId("req") };
    const [keyed, plain] = [await start({ key: "k" }), await start({}, once)];
    await post("drain", { reason: "r" });
    expect(await start({ key: "k" })).toMatchObject({
      status: 200,
      body: { id: keyed.body["id"], attached: true },
    });
    expect(await start({}, once)).toMatchObject({ status: 201, body: { id: plain.body["id"] } });
    expect((await start({}, { "idempotency-key": newId("req") })).status).toBe(409);
  });

  it("leaves alone what runs, holds back what is queued, and hands it out at the resume", async () => {
    await service.send("PATCH", `/v1/nodes/${node.id}`, { maxProcesses: 1 });
    await expect.poll(() => service.rig.hub.free(node.id)).toBe(1);
    const [running, waiting] = [idOf(await start()), idOf(await start({ ifOffline: "queue" }))];
    expect(await statusOf(waiting)).toBe("queued");
    await post("drain", { reason: "r" });
    expect(await view()).toMatchObject({ running: 1, queued: 1 });
    node.played.exit(running);
    await service.rig.until(running, (row) => row.status === "exited");
    node.played.cut();
    await node.played.connect();
    await expect.poll(() => service.rig.hub.free(node.id)).toBe(1);
    await tickAfter(minute);
    expect(await view()).toMatchObject({ running: 0, queued: 1 });
    expect(launched()).toEqual([running]);
    await post("resume");
    await service.rig.until(waiting, (row) => row.status === "running");
    expect(launched()).toEqual([running, waiting]);
  });

  it("lets what is queued expire by its own time", async () => {
    await service.send("PATCH", `/v1/nodes/${node.id}`, { maxProcesses: 1 });
    await expect.poll(() => service.rig.hub.free(node.id)).toBe(1);
    await start();
    const waiting = idOf(await start({ ifOffline: "queue", queueTtlMs: 2 * minute }));
    await post("drain", { reason: "r" });
    await tickAfter(3 * minute);
    expect((await service.get(`/v1/processes/${waiting}`)).body).toMatchObject({
      status: "expired",
      reason: "queue_ttl",
    });
  });

  it("stops what still lives at the deadline, survivors too, with its own grace and once", async () => {
    const [live, survived] = [idOf(await start({ graceMs: 77 })), idOf(await start())];
    await service.rig.until(live, (row) => row.status === "running");
    node.played.exit(survived, { survivors: [{ pid: 9, command: "x" }] });
    await service.rig.until(survived, (row) => row.survivors.length > 0);
    await post("drain", { reason: "r", deadlineMs: minute });
    await tickAfter(minute - 5000);
    expect(stops()).toEqual([]);
    await tickAfter(minute + 1);
    await tickAfter(minute + 2);
    expect(stops().toSorted((a, b) => a.graceMs - b.graceMs)).toEqual([
      { type: "stop", id: live, graceMs: 77, reason: "node_drained" },
      { type: "stop", id: survived, graceMs: 5000, reason: "node_drained" },
    ]);
    expect(await statusOf(live)).toBe("stopping");
    node.played.report({ id: live, status: "killed", reason: "node_drained", signal: "TERM" });
    node.played.exit(survived, { survivors: [] });
    await expect.poll(async () => (await view())["running"]).toBe(0);
    expect((await service.get(`/v1/processes/${live}`)).body).toMatchObject({
      status: "killed",
      reason: "node_drained",
    });
  });

  it("whose deadline is now does not wait for a tick", async () => {
    const live = idOf(await start());
    await post("drain", { reason: "r", deadlineMs: 0 });
    expect(stops()).toMatchObject([{ id: live, reason: "node_drained" }]);
  });

  it("whose deadline passes while the node is away is asked for when it is back", async () => {
    const live = idOf(await start());
    await service.rig.until(live, (row) => row.status === "running");
    await post("drain", { reason: "r", deadlineMs: minute });
    node.played.cut();
    await expect.poll(() => service.rig.hub.online(node.id)).toBe(false);
    await tickAfter(minute + 1);
    await node.played.connect();
    await expect.poll(stops).toMatchObject([{ id: live, reason: "node_drained" }]);
  });
});

describe("a lease", () => {
  const lease = async (body: object = {}, headers: Record<string, string> = {}) => {
    const answer = await post("lease", { reason: "kernel", ttlMs: minute, ...body }, headers);
    return {
      ...answer,
      id: String(answer.body["leaseId"]),
      named: { "drover-lease": String(answer.body["leaseId"]) },
    };
  };
  const release = (headers: Record<string, string> = {}) =>
    service.send("DELETE", `/v1/nodes/${node.id}/lease`, undefined, headers);

  it("keeps every start off that does not name it, says why and until when, and never its id", async () => {
    const { status, id, named, body } = await lease();
    expect(status).toBe(201);
    const shown = await view();
    expect(shown).toMatchObject({ lease: { reason: "kernel", expiresAt: body["expiresAt"] } });
    const refused = await start();
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: "node_leased",
        reason: "kernel",
        expiresAt: body["expiresAt"],
        detail: `the node is leased until ${String(body["expiresAt"])}: kernel`,
      },
    });
    const wrong = await start({ ifOffline: "queue" }, { "drover-lease": "lease_of_another" });
    expect(wrong).toMatchObject({ status: 409, body: { code: "node_leased" } });
    const again = await post("lease", { reason: "mine", ttlMs: minute });
    expect(again).toMatchObject({ status: 409, body: { code: "node_leased" } });
    expect(JSON.stringify([shown, refused.body, wrong.body, again.body])).not.toContain(id);
    expect((await start({}, named)).status).toBe(201);
    expect(launched()).toHaveLength(1);
  });

  it("is over at its end without anybody's doing, and what runs goes on", async () => {
    const before = idOf(await start());
    await lease();
    service.rig.clock.aheadMs = minute + 1000;
    expect(await view()).not.toHaveProperty("lease");
    expect((await start()).status).toBe(201);
    expect(stops()).toEqual([]);
    expect(await statusOf(before)).toBe("running");
    expect((await lease()).status).toBe(201);
  });

  it("is renewed by a lease that names it, with its id", async () => {
    const first = await lease();
    const renewed = await lease({ reason: "kernel, again", ttlMs: 5 * minute }, first.named);
    expect(renewed).toMatchObject({ status: 200, body: { leaseId: first.id } });
    expect(await view()).toMatchObject({
      lease: { reason: "kernel, again", expiresAt: renewed.body["expiresAt"] },
    });
    service.rig.clock.aheadMs = 2 * minute;
    expect((await start()).status).toBe(409);
    expect((await start({}, first.named)).status).toBe(201);
  });

  it("is ended by who names it, or by an admin who names none, and not by another", async () => {
    const { named } = await lease();
    expect(await release({ "drover-lease": "lease_of_another" })).toMatchObject({
      status: 409,
      body: { code: "node_leased" },
    });
    expect((await start()).status).toBe(409);
    expect((await release(named)).status).toBe(204);
    expect((await start()).status).toBe(201);
    await lease();
    expect((await release()).status).toBe(204);
    expect((await release()).status).toBe(204);
    expect(await view()).not.toHaveProperty("lease");
  });

  it("asked for again under its Idempotency-Key is the same one, while it lasts", async () => {
    const once = { "idempotency-key": newId("req") };
    const first = await lease({}, once);
    const again = await lease({}, once);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    await release();
    expect(await lease({}, once)).toMatchObject({ status: 404 });
  });

  it("lets its own starts through the queue; those of others wait until it is over", async () => {
    await service.send("PATCH", `/v1/nodes/${node.id}`, { maxProcesses: 1 });
    await expect.poll(() => service.rig.hub.free(node.id)).toBe(1);
    const [running, others] = [idOf(await start()), idOf(await start({ ifOffline: "queue" }))];
    const { named } = await lease();
    const own = idOf(await start({ ifOffline: "queue" }, named));
    expect(await statusOf(own)).toBe("queued");
    node.played.exit(running);
    await service.rig.until(own, (row) => row.status === "running");
    expect(await statusOf(others)).toBe("queued");
    node.played.exit(own);
    await service.rig.until(own, (row) => row.status === "exited");
    await tickAfter(minute - 5000);
    expect(launched()).toEqual([running, own]);
    await tickAfter(minute + 1);
    await service.rig.until(others, (row) => row.status === "running");
    expect(launched()).toEqual([running, own, others]);
  });
});

describe("a new key for a node", () => {
  const old = async () => (await service.needs.store.nodes.keyHash(node.id)) ?? "";

  it("is made by its agent and in force from then on; the socket stays", async () => {
    const before = await old();
    node.played.onRequest = () => ({ keyHash: hash("next") });
    expect(await post("rotate-key")).toMatchObject({ status: 200, body: { id: node.id, status: "online" } });
    expect(node.played.told).toContainEqual(expect.objectContaining({ type: "rotate-key", keyHash: before }));
    expect(await old()).toBe(hash("next"));
    expect(await service.rig.link.authorize(`Bearer ${node.id}.next`)).toBe(node.id);
    expect(await service.rig.hub.online(node.id)).toBe(true);
  });

  it("is one when it is asked for twice at once", async () => {
    node.played.onRequest = () => ({ keyHash: hash("one") });
    const both = await Promise.all([post("rotate-key"), post("rotate-key")]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(await old()).toBe(hash("one"));
  });

  it("is not taken from a session that was followed by another one: the agent may have gone back to its old key", async () => {
    const before = await old();
    node.played.onRequest = (frame) => {
      // What the old session answers is on its way while the agent connects anew.
      const { nodes } = service.needs.store;
      const instance = service.needs.instance;
      const agent = { instanceId: "i", machineId: "m", bootId: "b", facts: {}, clockSkewMs: null };
      const hello = { instance, ...agent, now: new Date() };
      void nodes
        .connected(node.id, hello)
        .then(() => node.played.reply(frame.rid, { keyHash: hash("late") }));
      return undefined;
    };
    expect(await post("rotate-key")).toMatchObject({ status: 503, body: { code: "unavailable" } });
    expect(await old()).toBe(before);
  });

  it("is told to each new session, which says to the agent which of its keys counts", async () => {
    node.played.onRequest = () => ({ keyHash: hash("next") });
    await post("rotate-key");
    node.played.cut();
    await node.played.connect();
    const welcomes = node.played.told.filter((frame) => frame.type === "welcome");
    expect(welcomes.at(-1)).toMatchObject({ keyHash: hash("next") });
  });

  it.each([
    ["refuses", { error: { code: "conflict", message: "not now" } }, 409],
    ["cannot write", { error: { code: "unavailable", message: "its disk is full" } }, 503],
  ])("is not there when the agent %s", async (_, reply, status) => {
    const before = await old();
    node.played.onRequest = () => reply;
    expect((await post("rotate-key")).status).toBe(status);
    expect(await old()).toBe(before);
  });

  it("cannot be made while the node is away", async () => {
    node.played.cut();
    await expect.poll(() => service.rig.hub.online(node.id)).toBe(false);
    expect(await post("rotate-key")).toMatchObject({ status: 503, body: { code: "node_offline" } });
  });
});

it("a lease beyond its bound is refused in plain words", async () => {
  const { body } = await post("lease", { reason: "r", ttlMs: 30 * 24 * 60 * minute + 1 });
  expect(body["issues"]).toEqual([{ path: "ttlMs", message: "at most 30 days" }]);
});

it.each(["drain", "resume", "lease", "rotate-key"])(
  "POST …/%s of a node nobody knows is 404",
  async (verb) => {
    const bodies: Record<string, object> = { drain: { reason: "r" }, lease: { reason: "r", ttlMs: 1 } };
    expect((await service.post(`/v1/nodes/nobody/${verb}`, bodies[verb] ?? {})).status).toBe(404);
  },
);
