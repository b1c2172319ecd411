import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeCodes } from "#shared/link/limits.ts";
import { openRig, type Rig } from "./rig.ts";

describe("two sockets of one node", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig.close());

  it("of one agent instance: the new one holds the node at once, unasked", async () => {
    const node = await rig.node();
    const old = await rig.online(node.id, { instanceId: "same" });
    const young = await rig.online(node.id, { instanceId: "same" });
    expect(await old.closed).toBe("terminated");
    expect(old.all("probe")).toEqual([]);
    expect(rig.link.nodes.push(node.id, { type: "forget", ids: ["proc_x"] })).toBe(true);
    expect(await young.next("forget")).toBeDefined();
  });

  it("of two agents: what the old one sent before it was asked is no answer, nor is the answer to another question", async () => {
    const node = await rig.node();
    const old = await rig.online(node.id, { echoes: true });
    const young = rig.agent(node.id);
    young.hello();
    const { nonce = 0 } = await old.next("probe");
    old.say({ type: "ping" });
    old.say({ type: "ping", nonce: nonce + 1 });
    old.report({ id: `proc_${"0".repeat(26)}` });
    expect(await young.next("welcome")).toMatchObject({ epoch: 2 });
    expect(await old.closed).toBe("terminated");
  });

  it("of two agents, several of which ask at once: each is told no if the old one answers each", async () => {
    const node = await rig.node();
    const old = await rig.online(node.id, { echoes: true });
    const asked = rig.link.nodes.answersProbe(node.id);
    const copy = rig.agent(node.id);
    copy.hello();
    for (let n = 0; n < 2; n++) {
      const { nonce } = await old.next("probe");
      old.say({ type: "ping", nonce });
    }
    expect(await copy.closed).toMatchObject({ code: closeCodes.duplicateAgent });
    expect(await asked).toBe(true);
  });

  it("of two agents: the new one is told that it is a duplicate if the old one, of a version without numbers, answers", async () => {
    const node = await rig.node();
    const old = await rig.online(node.id);
    const copy = rig.agent(node.id);
    copy.hello();
    await old.next("probe");
    old.say({ type: "ping" });
    expect(await copy.closed).toMatchObject({
      code: closeCodes.duplicateAgent,
      reason: expect.stringContaining("duplicate_agent"),
    });
    expect(copy.all("welcome")).toEqual([]);
    expect(rig.link.nodes.push(node.id, { type: "forget", ids: ["proc_x"] })).toBe(true);
    expect(await old.next("forget")).toBeDefined();
  });

  it("of two agents: the new one holds the node if the old one does not answer", async () => {
    const node = await rig.node();
    const old = await rig.online(node.id);
    const young = await rig.online(node.id);
    expect(await old.closed).toBe("terminated");
    expect(young.all("welcome")).toMatchObject([{ epoch: 2 }]);
  });

  it("of which the new one only asks whether it may have the node: it is told no as long as the old one answers", async () => {
    const node = await rig.node();
    const old = await rig.online(node.id);
    const copy = rig.agent(node.id);
    copy.hello({ asks: true });
    await old.next("probe");
    old.say({ type: "ping" });
    expect(await copy.closed).toMatchObject({ code: closeCodes.duplicateAgent });
  });

  it("of which the new one only asks: yes is an answer, and takes nothing from anybody", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id);
    const copy = rig.agent(node.id);
    copy.hello({ asks: true, machineId: "elsewhere" });
    expect(await copy.next("welcome")).toMatchObject({ nodeId: node.id });
    expect(copy.told.map((frame) => frame.type)).toEqual(["welcome"]);
    expect(await rig.hub.online(node.id)).toBe(false);
    expect(await rig.store.nodes.find(node.id)).toMatchObject({ epoch: 0, machineId: null });
    expect(await rig.store.processes.get(row.id)).toMatchObject({ status: "starting" });
  });

  it("that say hello at the same time: one holds the node and the other is closed", async () => {
    const node = await rig.node();
    const [one, two] = [rig.agent(node.id), rig.agent(node.id)];
    one.hello();
    two.hello();
    await one.next("probe");
    one.say({ type: "ping" });
    expect(await two.closed).toMatchObject({ code: closeCodes.duplicateAgent });
    expect(await rig.hub.online(node.id)).toBe(true);
  });

  it("leave the node connected when the end of the old one is written late", async () => {
    const node = await rig.node();
    await rig.online(node.id, { instanceId: "same" });
    await rig.online(node.id, { instanceId: "same" });
    await rig.store.nodes.disconnected(node.id, { epoch: 1, orderly: true, now: new Date() });
    expect((await rig.store.nodes.find(node.id))?.connectedAt).not.toBeNull();
  });

  it("write nothing any more once superseded", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id);
    const old = await rig.online(node.id, { instanceId: "same" });
    await rig.online(node.id, { instanceId: "same" });
    old.report({ id: row.id, revision: 9 });
    expect(old.all("acknowledge")).toEqual([]);
    expect(await rig.store.processes.get(row.id)).toMatchObject({ revision: 0 });
  });
});
