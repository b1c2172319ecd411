import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chunkBytes, windowBytes } from "#shared/link/limits.ts";
import type { OutputChunk } from "../../../control-plane/needs.ts";
import type { FarEnd } from "./far-end.ts";
import { launchFor, openRig, type Rig } from "./rig.ts";

const ask = { type: "ports", id: "proc_1" } as const;

describe("the hub", () => {
  let rig: Rig;
  let nodeId: string;
  let agent: FarEnd;
  beforeAll(async () => {
    rig = await openRig();
    nodeId = (await rig.node()).id;
    agent = await rig.online(nodeId);
  });
  afterAll(() => rig.close());

  it("gives a reply to the request it answers, whatever the order", async () => {
    const answers = [
      rig.hub.request(nodeId, ask, { timeoutMs: 60_000 }),
      rig.hub.request(nodeId, ask, { timeoutMs: 60_000 }),
    ];
    const rids = [(await agent.next("ports")).rid, (await agent.next("ports")).rid];
    agent.say({
      type: "reply",
      rid: String(rids[1]),
      error: { code: "not_found", message: "no such process" },
    });
    agent.say({ type: "reply", rid: String(rids[0]), value: { ports: [] } });
    agent.say({ type: "reply", rid: "r999" });
    expect(await Promise.all(answers)).toEqual([
      { outcome: "ok", value: { ports: [] } },
      { outcome: "refused", code: "not_found", message: "no such process" },
    ]);
  });

  it("says that an answer did not come when its time is over or its client left, and tells the agent", async () => {
    expect(await rig.hub.request(nodeId, ask, { timeoutMs: 1 })).toEqual({ outcome: "no_answer" });
    expect((await agent.next("abandon")).rid).toBe(agent.all("ports").at(-1)?.rid);
    const client = new AbortController();
    const answer = rig.hub.request(nodeId, ask, { timeoutMs: 60_000, signal: client.signal });
    client.abort();
    expect(await answer).toEqual({ outcome: "no_answer" });
    expect((await agent.next("abandon")).rid).toBe(agent.all("ports").at(-1)?.rid);
  });

  it("says offline for a node without a socket, and that an answer is unknown when the socket goes", async () => {
    const other = await rig.node();
    expect(await rig.hub.request(other.id, ask, { timeoutMs: 60_000 })).toEqual({ outcome: "offline" });
    expect(rig.hub.free(other.id)).toBe(0);
    expect(rig.hub.start(other.id, launchFor("proc_1"))).toBe(false);
    const far = await rig.online(other.id);
    const answer = rig.hub.request(other.id, ask, { timeoutMs: 60_000 });
    far.cut();
    expect(await answer).toEqual({ outcome: "no_answer" });
  });

  it("counts starts against the node's places, a repeat once", async () => {
    const node = await rig.node();
    const far = await rig.online(node.id, { facts: { maxProcesses: 1 } });
    await expect.poll(() => rig.hub.free(node.id)).toBe(1);
    expect([
      rig.hub.start(node.id, launchFor("proc_p1")),
      rig.hub.start(node.id, launchFor("proc_p1")),
    ]).toEqual([true, true]);
    expect([rig.hub.start(node.id, launchFor("proc_p2")), rig.hub.free(node.id)]).toEqual([false, 0]);
    expect(rig.hub.confirmed(node.id, "proc_p1")).toBe(false);
    expect(rig.hub.sentAt(node.id, "proc_p1")).toBeInstanceOf(Date);
    far.say({ type: "accepted", id: "proc_p1" });
    expect(rig.hub.confirmed(node.id, "proc_p1")).toBe(true);
  });

  it("keeps a start that its node confirmed from being fenced when the socket goes", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id, { status: "queued" });
    const far = await rig.online(node.id);
    await far.next("start");
    far.say({ type: "accepted", id: row.id });
    far.cut();
    await expect.poll(async () => (await rig.store.nodes.find(node.id))?.heldBy).toBeNull();
    expect(await rig.store.processes.unconfirmed(new Date("2100-01-01"))).not.toContainEqual(
      expect.objectContaining({ id: row.id }),
    );
  });

  it("takes another number of places when the node's row changes", async () => {
    const node = await rig.node();
    await rig.online(node.id, { facts: { maxProcesses: 1 } });
    await rig.store.nodes.patch(node.id, { maxProcesses: 5 });
    rig.needs.bus.publish(`node:${node.id}`);
    await expect.poll(() => rig.hub.free(node.id)).toBe(5);
  });
});

describe("following", () => {
  let rig: Rig;
  let nodeId: string;
  let agent: FarEnd;
  beforeAll(async () => {
    rig = await openRig();
    nodeId = (await rig.node()).id;
    agent = await rig.online(nodeId);
  });
  afterAll(() => rig.close());

  const follow = (from: number, signal: AbortSignal) =>
    rig.hub.follow(nodeId, { id: "proc_1", stream: "merged", from }, signal)[Symbol.asyncIterator]();
  const say = (name: string, from: number, bytes: number) =>
    agent.say({ type: "output", follow: name, from, to: from + bytes, b64: btoa("x".repeat(bytes)) });
  const never = new AbortController().signal;

  it("gives chunks and gaps in order from the offset asked for, then ends with the client, and says so to the agent", async () => {
    const client = new AbortController();
    const chunks = follow(10, client.signal);
    const first = chunks.next();
    const asked = await agent.next("follow");
    expect(asked).toMatchObject({ id: "proc_1", stream: "merged", from: 10 });
    agent.say({ type: "output", follow: asked.follow, from: 10, to: 12, b64: btoa("ab") });
    agent.say({ type: "output", follow: asked.follow, from: 12, to: 500, gap: true });
    expect((await first).value).toEqual({ from: 10, to: 12, bytes: new TextEncoder().encode("ab") });
    expect((await chunks.next()).value).toEqual({ from: 12, to: 500, bytes: null });
    const last = chunks.next();
    client.abort();
    expect((await last).done).toBe(true);
    expect(await agent.next("unfollow")).toMatchObject({ follow: asked.follow });
  });

  it("gives credit as chunks are taken and never before", async () => {
    const chunks = follow(0, never);
    const taken: (OutputChunk | undefined)[] = [];
    const first = chunks.next();
    const { follow: name } = await agent.next("follow");
    for (let at = 0; at < windowBytes; at += chunkBytes) say(name, at, chunkBytes);
    taken.push((await first).value ?? undefined);
    expect(agent.all("credit")).toEqual([]);
    while (taken.length < windowBytes / chunkBytes) taken.push((await chunks.next()).value ?? undefined);
    expect(taken.map((chunk) => chunk?.from)).toEqual(taken.map((_, index) => index * chunkBytes));
    const credits = agent.all("credit").map((credit) => credit.to);
    expect(credits).toEqual(credits.toSorted((a, b) => a - b));
    expect(credits.at(-1)).toBeGreaterThan(windowBytes / 2);
    await chunks.return?.();
    expect(await agent.next("unfollow")).toMatchObject({ follow: name });
  });

  it.each([
    ["skips bytes", (name: string) => say(name, 5, 5)],
    ["repeats bytes", (name: string) => (say(name, 0, 5), say(name, 3, 5))],
    [
      "sends more than the window",
      (name: string) => [...Array(10).keys()].forEach((step) => say(name, step * chunkBytes, chunkBytes)),
    ],
    [
      "miscounts",
      (name: string) => agent.say({ type: "output", follow: name, from: 0, to: 9, b64: btoa("x") }),
    ],
  ])("ends when the agent %s, and the socket lives on", async (_what, misbehave) => {
    const chunks = follow(0, never);
    const first = chunks.next();
    misbehave((await agent.next("follow")).follow);
    let step = await first;
    while (step.done !== true) step = await chunks.next();
    expect(await rig.hub.online(nodeId)).toBe(true);
  });

  it("ends when the socket goes, and at once for a node without one", async () => {
    const node = await rig.node();
    const nobody = rig.hub
      .follow(node.id, { id: "proc_p", stream: "merged", from: 0 }, never)
      [Symbol.asyncIterator]();
    expect((await nobody.next()).done).toBe(true);
    const far = await rig.online(node.id);
    const chunks = rig.hub
      .follow(node.id, { id: "proc_p", stream: "merged", from: 0 }, never)
      [Symbol.asyncIterator]();
    const first = chunks.next();
    await far.next("follow");
    far.cut();
    expect((await first).done).toBe(true);
  });
});
