import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { findNode } from "../../../control-plane/actions/find-node.ts";
import { nodeStatus } from "../../../control-plane/actions/node-presence.ts";
import { tick } from "../../../control-plane/scheduler/tick.ts";
import { startTicker } from "../../../control-plane/scheduler/ticker.ts";
import { auditEntry, eventsBegin, settledEvents } from "../../contract/store-samples.ts";
import { exited } from "../link/far-end.ts";
import { openRig, type Rig } from "../link/rig.ts";

const second = 1000;

describe("a tick", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig();
  });
  beforeEach(() => {
    rig.clock.aheadMs = 0;
  });
  afterAll(() => rig.close());

  const longAgo = new Date(0);
  const tickAfter = (ms: number, since = longAgo) => {
    rig.clock.aheadMs = ms;
    return tick(rig.needs, { since, prunedAt: null });
  };
  const row = (id: string) => rig.store.processes.get(id);

  it("loses a start that its node did not confirm in 30 s, tells the node to stop it, and does so once", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await expect.poll(() => rig.hub.free(node.id)).toBeGreaterThan(0);
    const start = await rig.start(node.id);
    rig.hub.start(node.id, start.launch);
    await tickAfter(29 * second);
    expect(await row(start.id)).toMatchObject({ status: "starting" });
    await tickAfter(31 * second);
    await tickAfter(32 * second);
    expect(await row(start.id)).toMatchObject({ status: "lost", reason: "unconfirmed" });
    expect(agent.all("stop")).toMatchObject([{ id: start.id }]);
  });

  it("leaves alone what the node has confirmed", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await expect.poll(() => rig.hub.free(node.id)).toBeGreaterThan(0);
    const start = await rig.start(node.id);
    rig.hub.start(node.id, start.launch);
    agent.say({ type: "accepted", id: start.id });
    await tickAfter(60 * second);
    expect(await row(start.id)).toMatchObject({ status: "starting" });
    agent.cut();
    await tickAfter(61 * second);
    expect(await row(start.id)).toMatchObject({ status: "starting" });
  });

  it("lets a start wait for the next word of its node that may, and loses one that may not", async () => {
    const node = await rig.node();
    const [may, mayNot] = [await rig.start(node.id, { ifOffline: "queue" }), await rig.start(node.id)];
    await tickAfter(31 * second);
    expect(await row(may.id)).toMatchObject({ status: "starting" });
    expect(await row(mayNot.id)).toMatchObject({ status: "lost", reason: "unconfirmed" });
  });

  it("sends a start that was stored and never pushed to its live node", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await expect.poll(() => rig.hub.free(node.id)).toBeGreaterThan(0);
    const start = await rig.start(node.id, { ifOffline: "queue" });
    await tickAfter(31 * second);
    expect((await agent.next("start")).launch.id).toBe(start.id);
  });

  it("ends a start that was stored, never pushed, and may not wait", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await expect.poll(() => rig.hub.free(node.id)).toBeGreaterThan(0);
    const start = await rig.start(node.id);
    await tickAfter(31 * second);
    expect(await row(start.id)).toMatchObject({ status: "expired", reason: "not_delivered" });
    expect(agent.all("start")).toEqual([]);
  });

  it("gives agents time to come back after the control plane began", async () => {
    const node = await rig.node();
    const start = await rig.start(node.id);
    await tickAfter(31 * second, new Date());
    expect(await row(start.id)).toMatchObject({ status: "starting" });
  });

  it("expires what was queued longer than it may", async () => {
    const node = await rig.node();
    const [may, mayNot] = [
      await rig.start(node.id, { status: "queued", ifOffline: "queue", queueTtlMs: 40 * second }),
      await rig.start(node.id, { status: "queued" }),
    ];
    await tickAfter(31 * second);
    expect(await row(mayNot.id)).toMatchObject({ status: "expired", reason: "not_delivered" });
    expect(await row(may.id)).toMatchObject({ status: "queued" });
    await tickAfter(41 * second);
    expect(await row(may.id)).toMatchObject({ status: "expired", reason: "queue_ttl" });
  });

  it("lets a node that went without goodbye be offline after 3 min, tells so once, and wakes who looks at it", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    const begin = await eventsBegin(rig.store);
    const looks = { count: 0 };
    const end = rig.needs.bus.subscribe(`node:${node.id}`, () => (looks.count += 1));
    agent.cut();
    // The end of the session, once it is written down.
    await expect.poll(() => looks.count).toBe(1);
    const status = async () => nodeStatus(rig.needs, await findNode(rig.needs, node.id));
    await tickAfter(178 * second);
    expect([await status(), looks.count]).toEqual(["unreachable", 1]);
    await tickAfter(181 * second);
    await tickAfter(190 * second);
    expect([await status(), looks.count]).toEqual(["offline", 2]);
    end();
    const told = await settledEvents(rig.store, begin);
    expect(told.filter(({ nodeId }) => nodeId === node.id).map(({ type }) => type)).toEqual([
      "node.unreachable",
      "node.offline",
    ]);
  });

  it("loses what ran on a node that was away for longer than is allowed, until it comes back with the true ending", async () => {
    const node = await rig.node();
    const [ended, stopped] = [await rig.start(node.id), await rig.start(node.id)];
    const inventory = [ended, stopped].map(({ id }) => ({ id, status: "running" as const, revision: 1 }));
    const agent = await rig.online(node.id, { inventory });
    agent.report(...inventory.map(({ id }) => ({ id })));
    await agent.next("acknowledge");
    agent.cut();
    await expect.poll(async () => (await rig.store.nodes.find(node.id))?.connectedAt).toBeNull();
    await rig.store.processes.requestStop(stopped.id, { graceMs: 9, reason: "stopped", now: new Date() });
    await tickAfter(rig.needs.config.nodeGoneMs - second);
    expect(await row(ended.id)).toMatchObject({ status: "running" });
    await tickAfter(rig.needs.config.nodeGoneMs + second);
    for (const { id } of [ended, stopped])
      expect(await row(id)).toMatchObject({ status: "lost", reason: "node_gone" });
    const back = await rig.online(node.id, { inventory });
    expect(await back.next("stop")).toMatchObject({ id: stopped.id, graceMs: 9 });
    back.say({ type: "reports", reports: [exited(ended.id)] });
    await back.next("acknowledge");
    expect(await row(ended.id)).toMatchObject({ status: "exited", reason: null, exitCode: 0 });
    expect(back.all("stop")).toHaveLength(1);
  });

  it("deletes ended processes past their retention, once an hour", async () => {
    const node = await rig.node();
    const start = await rig.start(node.id);
    const agent = await rig.online(node.id, {
      inventory: [{ id: start.id, status: "running", revision: 1 }],
    });
    agent.say({ type: "reports", reports: [exited(start.id)] });
    await agent.next("acknowledge");
    const state = await tickAfter(0);
    rig.clock.aheadMs = rig.needs.config.retentionMs + second;
    await tick(rig.needs, { ...state, prunedAt: rig.needs.now() });
    expect(await row(start.id)).toBeDefined();
    await tick(rig.needs, state);
    expect(await row(start.id)).toBeUndefined();
  });

  it("deletes entries of the audit past theirs", async () => {
    const { audit } = rig.store;
    const { auditRetentionMs } = rig.needs.config;
    const actorId = newId("tok");
    const ages = [auditRetentionMs + second, auditRetentionMs - 60 * second];
    for (const age of ages)
      await audit.append(auditEntry({ actorId, at: new Date(Date.now() - age), input: { age } }));
    await tickAfter(0);
    expect(await audit.list({ actor: actorId, limit: 9 })).toMatchObject([{ input: { age: ages[1] } }]);
  });
});

describe("a tick while a hello is compared", () => {
  it("leaves the node's starts to that, which knows whether they may run on another machine", async () => {
    const reached = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const rig = await openRig({}, (store) => {
      const unfinished = async (nodeId: string) => {
        reached.resolve();
        await go.promise;
        return store.processes.unfinished(nodeId);
      };
      return { ...store, processes: { ...store.processes, unfinished } };
    });
    const node = await rig.node();
    const former = await rig.online(node.id, { machineId: "former" });
    const start = await rig.start(node.id);
    former.cut();
    await rig.online(node.id, { machineId: "clone" });
    await reached.promise;
    rig.clock.aheadMs = 31 * second;
    await tick(rig.needs, { since: new Date(0), prunedAt: null });
    expect(await rig.store.processes.get(start.id)).toMatchObject({ status: "starting" });
    go.resolve();
    expect(await rig.until(start.id, ({ status }) => status !== "starting")).toMatchObject({
      status: "lost",
      reason: "unconfirmed",
    });
    await rig.close();
  });
});

describe("the ticker", () => {
  it("goes on after a tick that failed, never overtakes itself, and waits for its last tick when it stops", async () => {
    const rig = await openRig();
    const ticks = { running: 0, most: 0, count: 0 };
    const third = Promise.withResolvers<void>();
    const expireQueued = async (): Promise<string[]> => {
      ticks.count += 1;
      ticks.running += 1;
      ticks.most = Math.max(ticks.most, ticks.running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      ticks.running -= 1;
      if (ticks.count === 3) third.resolve();
      if (ticks.count === 1) throw new Error("the database went");
      return [];
    };
    const processes = { ...rig.store.processes, expireQueued };
    const ticker = startTicker({ ...rig.needs, store: { ...rig.store, processes } }, 1);
    await third.promise;
    await ticker.stop();
    expect(ticks).toMatchObject({ running: 0, most: 1 });
    expect(rig.lines.filter((line) => line.event === "scheduler.tick_failed")).toHaveLength(1);
    await rig.close();
  });
});
