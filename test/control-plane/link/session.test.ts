import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { closeCodes, maxFrameBytes } from "#shared/link/limits.ts";
import { openRig, type Rig } from "./rig.ts";

describe("a session", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig({ seenEveryMs: 20 });
  });
  afterAll(() => rig.close());

  it("is authorized by the node's own key and nothing else", async () => {
    const [one, other] = [await rig.node(), await rig.node()];
    expect(await rig.link.authorize(`Bearer ${one.id}.${one.key}`)).toBe(one.id);
    expect(await rig.link.authorize(`Bearer ${one.id}.${other.key}`)).toBeUndefined();
    expect(await rig.link.authorize(`Bearer ${one.id}.`)).toBeUndefined();
    expect(await rig.link.authorize(`Bearer node_${"0".repeat(26)}.${one.key}`)).toBeUndefined();
    expect(await rig.link.authorize(`Basic ${one.id}.${one.key}`)).toBeUndefined();
    expect(await rig.link.authorize(null)).toBeUndefined();
  });

  it("welcomes an agent first of all and makes its node online", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id, { facts: { hostname: "far", maxProcesses: 3 } });
    expect(agent.told[0]).toMatchObject({ type: "welcome", nodeId: node.id, epoch: 1 });
    expect(await rig.hub.online(node.id)).toBe(true);
    expect(await rig.store.nodes.find(node.id)).toMatchObject({
      epoch: 1,
      maxProcesses: 3,
      facts: { hostname: "far" },
    });
  });

  it("answers pings, also while it is being admitted", async () => {
    const own = await openRig({ pongEveryMs: 0 });
    const agent = own.agent((await own.node()).id);
    agent.hello();
    agent.say({ type: "ping" });
    expect(agent.told.map((frame) => frame.type)).toEqual(["pong"]);
    await agent.next("welcome");
    agent.say({ type: "ping" });
    expect(await agent.next("pong")).toEqual({ type: "pong" });
    await own.close();
  });

  it("answers a sign of life only when it has said nothing for a while", async () => {
    const own = await openRig({ pongEveryMs: 200 });
    const agent = await own.online((await own.node()).id);
    agent.say({ type: "ping" });
    await vi.waitFor(() => {
      agent.say({ type: "load", load: { cpu: 0, memUsedBytes: 1, diskFreeBytes: 1 } });
      expect(agent.told.map((frame) => frame.type)).toEqual(["welcome", "pong"]);
    });
    await own.close();
  });

  it("closes an agent of another protocol by a reason that names both versions", async () => {
    const agent = rig.agent((await rig.node()).id);
    agent.sayText(JSON.stringify({ type: "hello", protocol: 99, future: true }));
    const closed = await agent.closed;
    expect(closed).toMatchObject({ code: closeCodes.versionMismatch });
    expect(closed).toHaveProperty("reason", "this control plane speaks protocol 1, the agent 99");
  });

  it.each([
    ["broken JSON", "{"],
    ["a frame of no known type", '{"type":"reboot"}'],
    ["a frame with a wrong field", '{"type":"accepted","id":7}'],
    ["a list", "[]"],
    ["a frame of the other direction", '{"type":"pong"}'],
  ])("closes on %s with 1008 and leaves other sessions alone", async (_what, text) => {
    const [node, neighbour] = [await rig.node(), await rig.node()];
    const agent = await rig.online(node.id);
    await rig.online(neighbour.id);
    agent.sayText(text);
    expect(await agent.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining("invalid frame"),
    });
    expect(await rig.hub.online(node.id)).toBe(false);
    expect(await rig.hub.online(neighbour.id)).toBe(true);
  });

  it("closes on binary with 1008 and on a frame over the limit with 1009, counted in bytes", async () => {
    const [one, two] = [await rig.online((await rig.node()).id), await rig.online((await rig.node()).id)];
    one.sayBinary();
    expect(await one.closed).toMatchObject({ code: 1008 });
    two.sayText(`{"type":"${"é".repeat(maxFrameBytes / 2)}"}`);
    expect(await two.closed).toMatchObject({ code: 1009 });
  });

  it("takes nothing before hello and no second hello", async () => {
    const [one, two] = [rig.agent((await rig.node()).id), await rig.online((await rig.node()).id)];
    one.report({ id: "proc_x" });
    expect(await one.closed).toMatchObject({ code: 1008 });
    two.hello();
    expect(await two.closed).toMatchObject({ code: 1008 });
  });

  it("is offline at once after goodbye, orderly, and unclean after a cut", async () => {
    const node = await rig.node();
    (await rig.online(node.id)).say({ type: "goodbye" });
    expect(await ended(rig, node.id)).toMatchObject({ orderly: true, connectedAt: null });
    (await rig.online(node.id)).cut();
    expect(await rig.hub.online(node.id)).toBe(false);
    expect(await ended(rig, node.id)).toMatchObject({ orderly: false, connectedAt: null });
  });

  it("drops a socket whose far end takes nothing", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    agent.bufferedAmount = 33 * 1024 * 1024;
    expect(rig.link.nodes.push(node.id, { type: "forget", ids: ["x"] })).toBe(false);
    expect(await agent.closed).toBe("terminated");
  });

  it("closes an agent whose node was deleted", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await rig.store.nodes.delete(node.id, new Date());
    rig.needs.bus.publish(`node:${node.id}`);
    expect(await agent.closed).toMatchObject({ code: closeCodes.revoked });
    const late = rig.agent(node.id);
    late.hello();
    expect(await late.closed).toMatchObject({ code: closeCodes.revoked });
  });

  it("closes an agent that names more processes than any node has", async () => {
    const agent = await rig.online((await rig.node()).id);
    for (let n = 0; n <= 250_000; n += 1) agent.sayText(`{"type":"accepted","id":"proc_${n}"}`);
    expect(await agent.closed).toMatchObject({ code: 1008 });
  });

  it("remembers the load of its node", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    const load = { cpu: 0.5, memUsedBytes: 1, diskFreeBytes: 2 };
    agent.say({ type: "load", load });
    expect(rig.hub.sign(node.id)?.load).toEqual(load);
    await expect.poll(async () => (await rig.store.nodes.find(node.id))?.load).toEqual(load);
  });
});

describe("a session's clocks", () => {
  it("end a socket that says no hello", async () => {
    const rig = await openRig({ helloWithinMs: 20 });
    const agent = rig.agent((await rig.node()).id);
    expect(await agent.closed).toMatchObject({ code: 1008, reason: "no hello came" });
    await rig.close();
  });

  it("terminate a socket that falls silent, and the node is no longer online", async () => {
    const rig = await openRig({ silenceMs: 300 });
    const node = await rig.node();
    const agent = await rig.online(node.id);
    expect(await agent.closed).toBe("terminated");
    expect(await rig.hub.online(node.id)).toBe(false);
    expect(await ended(rig, node.id)).toMatchObject({ orderly: false });
    await rig.close();
  });

  it("close all sockets when the link closes, with their ends written down", async () => {
    const rig = await openRig();
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await rig.link.close();
    expect(await agent.closed).toMatchObject({ code: closeCodes.goingAway });
    expect(await rig.store.nodes.find(node.id)).toMatchObject({ connectedAt: null, orderly: false });
    const late = rig.agent(node.id);
    expect(await late.closed).toMatchObject({ code: closeCodes.goingAway });
    await rig.close();
  });
});

/** The node's row once its session has ended. */
async function ended(rig: Rig, nodeId: string) {
  await expect.poll(async () => (await rig.store.nodes.find(nodeId))?.connectedAt).toBeNull();
  return rig.store.nodes.find(nodeId);
}
