import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startProcessBody } from "#shared/api/process.ts";
import { closeCodes } from "#shared/link/limits.ts";
import { deleteNode } from "../../../control-plane/actions/change-node.ts";
import { drainNode, resumeNode } from "../../../control-plane/actions/drain-node.ts";
import { leaseNode } from "../../../control-plane/actions/lease-node.ts";
import { rotateKey } from "../../../control-plane/actions/rotate-key.ts";
import { startProcess } from "../../../control-plane/actions/start-process.ts";
import { tick } from "../../../control-plane/scheduler/tick.ts";
import { eventually } from "../../support/eventually.ts";
import type { FarEnd } from "../link/far-end.ts";
import { openRigs } from "../link/rig.ts";

const minute = 60_000;

describe("maintenance of a node whose socket is at A, asked for at B", () => {
  let rigs: Awaited<ReturnType<typeof openRigs>>;
  let nodeId: string;
  let agent: FarEnd;
  beforeAll(async () => {
    rigs = await openRigs();
  });
  beforeEach(async () => {
    nodeId = (await rigs.a.node()).id;
    agent = await rigs.a.online(nodeId);
    await eventually(() => rigs.a.hub.free(nodeId) > 0);
  });
  afterAll(() => rigs.close());

  const start = (at: "a" | "b", leaseId?: string) =>
    startProcess(
      rigs[at].needs,
      startProcessBody.parse({ node: nodeId, command: "true", ifOffline: "queue" }),
      undefined,
      { leaseId },
    );
  const ticks = async (aheadMs: number) => {
    const state = { since: new Date(), prunedAt: new Date() };
    await Promise.all(
      [rigs.a, rigs.b].map((rig) => tick({ ...rig.needs, now: () => new Date(Date.now() + aheadMs) }, state)),
    );
  };

  it("a drain keeps starts off at both, and its end lets A send what was queued", async () => {
    const { id } = await rigs.a.start(nodeId, { status: "queued", ifOffline: "queue" });
    await drainNode(rigs.b.needs, nodeId, { reason: "r" });
    for (const at of ["a", "b"] as const)
      await expect(start(at)).rejects.toMatchObject({ code: "node_draining" });
    await ticks(minute);
    expect(agent.all("start")).toEqual([]);
    await resumeNode(rigs.b.needs, nodeId);
    expect((await agent.next("start")).launch.id).toBe(id);
  });

  it("a deadline that both see stops each process once", async () => {
    const { process } = await start("a");
    await agent.next("start");
    agent.report({ id: process.id, status: "running" });
    await rigs.a.until(process.id, (row) => row.status === "running");
    await drainNode(rigs.b.needs, nodeId, { reason: "r", deadlineMs: minute });
    await ticks(minute + 1);
    expect(await agent.next("stop")).toMatchObject({ id: process.id, reason: "node_drained" });
    await ticks(minute + 2);
    expect(agent.all("stop")).toHaveLength(1);
  });

  it("a lease lets its own starts through at both", async () => {
    const lease = { reason: "r", ttlMs: minute, leaseId: "lease_1", heldId: undefined };
    await leaseNode(rigs.b.needs, nodeId, lease);
    for (const at of ["a", "b"] as const)
      await expect(start(at)).rejects.toMatchObject({ code: "node_leased" });
    for (const at of ["a", "b"] as const) {
      const { process } = await start(at, "lease_1");
      expect((await agent.next("start")).launch.id).toBe(process.id);
    }
  });

  it("a new key is made by the agent and stored by B", async () => {
    const rotated = rotateKey(rigs.b.needs, nodeId);
    const { rid } = await agent.next("rotate-key");
    const keyHash = "b".repeat(64);
    agent.say({ type: "reply", rid, value: { keyHash } });
    expect(await rotated).toMatchObject({ id: nodeId, keyHash });
  });

  it("a deleted node loses its key at once, and its socket at A", async () => {
    await deleteNode(rigs.b.needs, nodeId);
    expect(await rigs.a.store.nodes.keyHash(nodeId)).toBeUndefined();
    expect(await agent.closed).toMatchObject({ code: closeCodes.revoked });
    expect(await rigs.b.hub.online(nodeId)).toBe(false);
  });
});
