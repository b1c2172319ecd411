import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { maxFrameBytes } from "#shared/link/limits.ts";
import { dispatchFor, dispatchQueued, dispatchStart } from "../../../control-plane/link/dispatch.ts";
import type { Store } from "../../../control-plane/store/store.ts";
import { exited } from "./far-end.ts";
import { launchFor, openRig, type Rig } from "./rig.ts";

describe("a start just stored", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig.close());

  const places = (nodeId: string, count: number) => expect.poll(() => rig.hub.free(nodeId)).toBe(count);

  it("is sent at once to a node that has a place", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id, { facts: { maxProcesses: 1 } });
    await places(node.id, 1);
    const row = await rig.start(node.id);
    expect(await dispatchStart(rig.needs, node.id, row)).toBe(true);
    expect((await agent.next("start")).launch).toEqual(row.launch);
  });

  it("waits in the queue when the node is away or full, and starts when a place comes up", async () => {
    const node = await rig.node();
    const away = await rig.start(node.id, { ifOffline: "queue" });
    expect(await dispatchStart(rig.needs, node.id, away)).toBe(false);
    expect(await rig.store.processes.get(away.id)).toMatchObject({ status: "queued" });
    const agent = await rig.online(node.id, { facts: { maxProcesses: 1 } });
    expect((await agent.next("start")).launch.id).toBe(away.id);
    const full = await rig.start(node.id);
    expect(await dispatchStart(rig.needs, node.id, full)).toBe(false);
    expect(await rig.store.processes.get(full.id)).toMatchObject({ status: "queued" });
    agent.say({ type: "reports", reports: [exited(away.id)] });
    expect((await agent.next("start")).launch.id).toBe(full.id);
  });

  it("that no frame can carry ends as not delivered instead of waiting for ever", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await places(node.id, 256);
    const row = await rig.start(node.id);
    expect(
      await dispatchStart(rig.needs, node.id, {
        ...row,
        launch: launchFor(row.id, { command: "x".repeat(maxFrameBytes) }),
      }),
    ).toBe(false);
    expect(await rig.store.processes.get(row.id)).toMatchObject({
      status: "expired",
      reason: "not_delivered",
    });
    expect(agent.all("start")).toEqual([]);
    expect(rig.hub.free(node.id)).toBe(256);
  });

  it("never takes more places than the node has, however many are offered at once", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id, { facts: { maxProcesses: 3 } });
    await places(node.id, 3);
    const queued = Array.from({ length: 8 }, () => rig.start(node.id, { status: "queued" }));
    const direct = Array.from({ length: 8 }, () => rig.start(node.id));
    await Promise.all(queued);
    await Promise.all([
      ...direct.map(async (row) => dispatchStart(rig.needs, node.id, await row)),
      ...Array.from({ length: 4 }, () => dispatchQueued(rig.needs, node.id)),
    ]);
    expect(agent.all("start")).toHaveLength(3);
    const rows = await rig.store.processes.list({ nodeId: node.id, statuses: ["queued"], limit: 50 });
    expect(rows).toHaveLength(13);
  });

  it("that was stopped on its way back to the queue is canceled and not started", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id);
    await rig.store.processes.requestStop(row.id, { graceMs: 0, reason: "stopped", now: new Date() });
    await rig.store.processes.putBack([row], new Date());
    const agent = await rig.online(node.id);
    expect(await rig.until(row.id, (now) => now.status === "canceled")).toMatchObject({ reason: null });
    expect(agent.all("start")).toEqual([]);
  });
});

describe("a start that was given away by letter", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig.close());

  it("is sent once, also when the letter comes twice", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await expect.poll(() => rig.hub.free(node.id)).toBeGreaterThan(0);
    const row = await rig.start(node.id);
    await Promise.all([dispatchFor(rig.needs, node.id, row), dispatchFor(rig.needs, node.id, row)]);
    expect(agent.all("start").map(({ launch }) => launch.id)).toEqual([row.id]);
  });

  it("is no more of this one when a hello came first: a stop is then for its node", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id);
    const agent = await rig.online(node.id);
    await agent.next("start");
    await rig.store.processes.requestStop(row.id, { graceMs: 0, reason: "stopped", now: new Date() });
    await dispatchFor(rig.needs, node.id, row);
    agent.cut();
    await dispatchFor(rig.needs, node.id, row);
    expect(await rig.store.processes.get(row.id)).toMatchObject({ status: "starting" });
  });
});

describe("a start that two may send", () => {
  const atPutBack = { reached: Promise.withResolvers<void>(), go: Promise.withResolvers<void>() };
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig({}, (store) => {
      const putBack: Store["processes"]["putBack"] = async (...given) => {
        atPutBack.reached.resolve();
        await atPutBack.go.promise;
        return store.processes.putBack(...given);
      };
      return { ...store, processes: { ...store.processes, putBack } };
    });
  });
  afterAll(() => rig.close());

  it("is not put back by one who could not send it once the next hello has sent it: a stop asks its node", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id, { ifOffline: "queue" });
    const sent = dispatchStart(rig.needs, node.id, row);
    await atPutBack.reached.promise;
    const agent = await rig.online(node.id);
    expect((await agent.next("start")).launch.id).toBe(row.id);
    atPutBack.go.resolve();
    expect(await sent).toBe(true);
    const stopped = { graceMs: 0, reason: "stopped" as const, now: new Date() };
    expect(await rig.store.processes.requestStop(row.id, stopped)).toMatchObject({ status: "starting" });
  });
});
