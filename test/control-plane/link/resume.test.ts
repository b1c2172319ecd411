import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { closeCodes } from "#shared/link/limits.ts";
import { type Link, openLink } from "../../../control-plane/link/link.ts";
import type { FarEnd } from "./far-end.ts";
import { openRig, type Rig } from "./rig.ts";

describe("a session whose memory was taken", () => {
  let rig: Rig;
  const links: Link[] = [];
  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(async () => {
    await Promise.all(links.map((link) => link.close()));
    await rig.close();
  });

  /** Another memory of the same instance, as an object has that was put to sleep and woke. */
  const another = (): Link => {
    const link = openLink(rig.needs, { times: { silenceMs: Infinity, seenEveryMs: 0 } });
    links.push(link);
    return link;
  };
  const asleep = async (agent: FarEnd): Promise<void> => {
    await vi.waitFor(() => expect(agent.kept).toBeDefined());
    await rig.link.rest();
  };

  it("goes on in another one: what runs has its place, reports are taken, requests are answered", async () => {
    const { id } = await rig.node();
    const agent = await rig.online(id, { facts: { maxProcesses: 2 } });
    const row = await rig.start(id);
    rig.hub.start(id, row.launch);
    agent.report({ id: row.id });
    await agent.next("acknowledge");
    await asleep(agent);
    const link = another();
    expect(await agent.wake(link)).toBe(true);
    expect(link.nodes.free(id)).toBe(1);
    const asked = link.hub.request(id, { type: "ports", id: row.id }, { timeoutMs: 5000 });
    agent.say({ type: "reply", rid: (await agent.next("ports")).rid, value: { ports: [] } });
    expect(await asked).toEqual({ outcome: "ok", value: { ports: [] } });
    agent.report({ id: row.id, revision: 2, status: "exited", exitCode: 0 });
    await agent.next("acknowledge");
    expect(await rig.store.processes.get(row.id)).toMatchObject({ status: "exited", exitCode: 0 });
    expect(link.nodes.free(id)).toBe(2);
  });

  it("has written down a start that was confirmed by a word alone: nobody fences it", async () => {
    const { id } = await rig.node();
    const agent = await rig.online(id);
    const row = await rig.start(id);
    rig.hub.start(id, row.launch);
    agent.say({ type: "accepted", id: row.id });
    await asleep(agent);
    await agent.wake(another());
    const unconfirmed = await rig.store.processes.unconfirmed(new Date(Date.now() + 60_000));
    expect(unconfirmed.map((start) => start.id)).not.toContain(row.id);
  });

  it("counts a start as sent whose confirmation it does not know: it is not sent again, and fenced by its own time", async () => {
    const { id } = await rig.node();
    const agent = await rig.online(id);
    const row = await rig.start(id);
    rig.hub.start(id, row.launch);
    await agent.next("start");
    await asleep(agent);
    const link = another();
    await agent.wake(link);
    expect(link.nodes.sentAt(id, row.id)).toEqual(row.createdAt);
    expect(agent.all("start")).toHaveLength(1);
  });

  it("starts what waits when a place comes up, and says its end when the socket goes", async () => {
    const { id } = await rig.node();
    const agent = await rig.online(id, { facts: { maxProcesses: 1 } });
    const [first, second] = [await rig.start(id), await rig.start(id, { status: "queued" })];
    rig.hub.start(id, first.launch);
    agent.report({ id: first.id });
    await agent.next("acknowledge");
    await asleep(agent);
    await agent.wake(another());
    agent.report({ id: first.id, revision: 2, status: "exited", exitCode: 0 });
    await vi.waitFor(() => expect(agent.all("start").at(-1)?.launch.id).toBe(second.id));
    agent.cut();
    await vi.waitFor(async () =>
      expect(await rig.store.nodes.find(id)).toMatchObject({ connectedAt: null, orderly: false }),
    );
  });

  it("is closed where another one took its node meanwhile, or the node is deleted", async () => {
    const { id } = await rig.node();
    const agent = await rig.online(id);
    await asleep(agent);
    await rig.online(id, { instanceId: agent.instanceId });
    expect(await agent.wake(another())).toBe(false);
    const gone = await rig.node();
    const orphan = await rig.online(gone.id);
    await asleep(orphan);
    await rig.store.nodes.delete(gone.id, new Date());
    expect(await orphan.wake(another())).toBe(false);
    expect(await orphan.closed).toMatchObject({ code: closeCodes.revoked });
  });

  it("keeps nothing before its inventory was compared", async () => {
    const { id } = await rig.node();
    const row = await rig.start(id);
    const agent = rig.agent(id);
    agent.hello();
    await agent.next("welcome");
    expect(agent.kept).toBeUndefined();
    expect((await agent.next("start")).launch.id).toBe(row.id);
    await vi.waitFor(() => expect(agent.kept).toMatchObject({ epoch: 1, instanceId: agent.instanceId }));
  });
});
