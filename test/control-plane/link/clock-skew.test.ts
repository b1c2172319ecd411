import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRig, type Rig } from "./rig.ts";

const dayMs = 86_400_000;
const load = { cpu: 0, memUsedBytes: 1, diskFreeBytes: 2 };

describe("an agent whose clock is off", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig({ seenEveryMs: 20 });
  });
  afterAll(() => rig.close());

  const skewOf = async (id: string) => (await rig.store.nodes.find(id))?.clockSkewMs ?? 0;
  const warnings = (nodeId: string) =>
    rig.lines.filter(({ event, fields }) => event === "node.clock_skewed" && fields["nodeId"] === nodeId);

  it("by a day is measured and told of once a session, and every time is still the control plane's", async () => {
    const node = await rig.node();
    const before = Date.now();
    const row = await rig.start(node.id);
    const agent = await rig.online(node.id, {
      wallAt: Date.now() + dayMs,
      inventory: [{ id: row.id, status: "running", revision: 1 }],
    });
    expect(Math.abs((await skewOf(node.id)) - dayMs)).toBeLessThan(60_000);
    agent.say({ type: "load", load, wallAt: Date.now() + 2 * dayMs });
    expect(rig.hub.sign(node.id)?.clockSkewMs).toBeGreaterThan(1.5 * dayMs);
    await expect.poll(() => skewOf(node.id)).toBeGreaterThan(1.5 * dayMs);
    agent.report({ id: row.id, startedAgeMs: 0 });
    await agent.next("acknowledge");
    const [found, process] = [await rig.store.nodes.find(node.id), await rig.store.processes.get(row.id)];
    for (const time of [found?.connectedAt, found?.lastSeenAt, process?.startedAt, process?.observedAt]) {
      expect(time?.getTime()).toBeGreaterThanOrEqual(before);
      expect(time?.getTime()).toBeLessThanOrEqual(Date.now());
    }
    expect(warnings(node.id)).toHaveLength(1);
    agent.cut();
    await rig.online(node.id, { wallAt: Date.now() - dayMs });
    expect(warnings(node.id)).toHaveLength(2);
    expect(await skewOf(node.id)).toBeLessThan(-0.5 * dayMs);
  });

  it("by less than is worth a word is not told of, and one that does not say has no skew", async () => {
    const [near, silent] = [await rig.node(), await rig.node()];
    await rig.online(near.id, { wallAt: Date.now() });
    await rig.online(silent.id);
    expect([...warnings(near.id), ...warnings(silent.id)]).toEqual([]);
    expect((await rig.store.nodes.find(silent.id))?.clockSkewMs).toBeNull();
  });
});
