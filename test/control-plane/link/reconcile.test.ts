import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProcessRow } from "../../../control-plane/store/store.ts";
import { exited, type FarEnd } from "./far-end.ts";
import { launchFor, openRig, type Rig } from "./rig.ts";

const statusIs = (status: string) => (row: ProcessRow) => row.status === status;
const stopNow = { graceMs: 9, reason: "stopped" as const };

describe("after a hello", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig.close());

  /** A process that ran on the node before its agent went away. */
  async function ranBefore(nodeId: string): Promise<ProcessRow> {
    const [row] = await manyRanBefore(nodeId, 1);
    return row as ProcessRow;
  }

  async function manyRanBefore(nodeId: string, count: number): Promise<ProcessRow[]> {
    const rows = await Promise.all(Array.from({ length: count }, () => rig.start(nodeId)));
    const agent = await rig.online(nodeId, { inventory: rows.map(running) });
    agent.report(...rows.map(({ id }) => ({ id })));
    await agent.next("acknowledge");
    agent.cut();
    return rows;
  }

  const stop = (id: string) => rig.store.processes.requestStop(id, { ...stopNow, now: new Date() });
  const running = (row: ProcessRow) => ({ id: row.id, status: "running" as const, revision: 1 });

  it("a start that never arrived is sent again with its env and stdin text, and once only", async () => {
    const node = await rig.node();
    const secret = { env: { TOKEN: "s3cret" }, stdinText: "typed" };
    const id = `proc_${"1".repeat(26)}`;
    const sealed = await rig.needs.seal.seal(JSON.stringify(secret), id);
    await rig.start(node.id, { id, sealed, launch: launchFor(id, { stdin: { text: "" } }) });
    const agent = await rig.online(node.id);
    expect((await agent.next("start")).launch).toEqual(
      launchFor(id, { env: secret.env, stdin: { text: "typed" } }),
    );
    await settled(agent);
    expect(agent.all("start")).toHaveLength(1);
  });

  it("a start that arrived is not sent again and counts as confirmed", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id);
    const agent = await rig.online(node.id, { inventory: [{ id: row.id, status: "starting", revision: 1 }] });
    await settled(agent);
    expect(agent.all("start")).toEqual([]);
    expect(rig.hub.confirmed(node.id, row.id)).toBe(true);
  });

  it("a process that the agent no longer knows is lost, and one that it has runs on", async () => {
    const node = await rig.node();
    const [gone, there] = (await manyRanBefore(node.id, 2)) as [ProcessRow, ProcessRow];
    await rig.online(node.id, { inventory: [running(there)] });
    expect(await rig.until(gone.id, statusIs("lost"))).toMatchObject({ reason: "agent_state_lost" });
    expect(await rig.store.processes.get(there.id)).toMatchObject({ status: "running" });
  });

  it("what an agent no longer knows after a boot of its machine is lost with the agent's folder, not by the boot", async () => {
    const node = await rig.node();
    const row = await ranBefore(node.id);
    await rig.online(node.id, { bootId: "another boot" });
    expect(await rig.until(row.id, statusIs("lost"))).toMatchObject({ reason: "agent_state_lost" });
  });

  it("a process that ended while the agent was away takes its ending from the report", async () => {
    const node = await rig.node();
    const row = await ranBefore(node.id);
    const agent = await rig.online(node.id, { inventory: [{ id: row.id, status: "exited", revision: 2 }] });
    await settled(agent);
    expect(await rig.store.processes.get(row.id)).toMatchObject({ status: "running" });
    agent.say({ type: "reports", reports: [exited(row.id)] });
    expect(await rig.until(row.id, statusIs("exited"))).toMatchObject({ exitCode: 0 });
  });

  it("an ending that the agent still has is asked for before anything is lost: the database may have been set back", async () => {
    const node = await rig.node();
    const [ended, gone] = (await manyRanBefore(node.id, 2)) as [ProcessRow, ProcessRow];
    const agent = await rig.online(node.id, { remembers: [ended.id] });
    expect((await agent.next("recall")).ids.toSorted()).toEqual([ended.id, gone.id].toSorted());
    await rig.until(gone.id, statusIs("lost"));
    expect(await rig.store.processes.get(ended.id)).toMatchObject({ status: "running" });
    agent.say({ type: "reports", reports: [exited(ended.id)] });
    expect(await rig.until(ended.id, statusIs("exited"))).toMatchObject({ exitCode: 0 });
  });

  it("survivors of which the agent knows nothing more are no longer listed", async () => {
    const node = await rig.node();
    const row = await ranBefore(node.id);
    const before = await rig.online(node.id, { inventory: [running(row)] });
    before.say({ type: "reports", reports: [{ ...exited(row.id), survivors: [{ pid: 9, command: "d" }] }] });
    await rig.until(row.id, (now) => now.survivors.length > 0);
    before.cut();
    await rig.online(node.id);
    expect(await rig.until(row.id, (now) => now.survivors.length === 0)).toMatchObject({
      status: "exited",
      exitCode: 0,
    });
  });

  it("a start that another machine had may run there: it is not sent again, and its true ending counts", async () => {
    const node = await rig.node();
    const former = await rig.online(node.id, { machineId: "former" });
    const row = await rig.start(node.id);
    const there = await rig.start(node.id);
    former.cut();
    const clone = await rig.online(node.id, {
      machineId: "clone",
      inventory: [{ id: there.id, status: "starting", revision: 1 }],
    });
    expect(await rig.until(row.id, statusIs("lost"))).toMatchObject({ reason: "unconfirmed" });
    await settled(clone);
    expect([...clone.all("start"), ...clone.all("stop")]).toEqual([]);
    expect(await rig.store.processes.get(there.id)).toMatchObject({ status: "starting" });
    clone.cut();
    const back = await rig.online(node.id, { machineId: "former" });
    back.say({ type: "reports", reports: [exited(row.id)] });
    expect(await rig.until(row.id, statusIs("exited"))).toMatchObject({ reason: null, exitCode: 0 });
  });

  it("a start that was fenced and did arrive is stopped, and its ending replaces the fence", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id);
    const fence = { status: "lost" as const, reason: "unconfirmed" as const, onlyUnreported: true };
    const onlyStatuses = ["starting" as const];
    await rig.store.processes.conclude([row.id], { ...fence, now: new Date(), onlyStatuses });
    const agent = await rig.online(node.id, { inventory: [running(row)] });
    expect(await agent.next("stop")).toMatchObject({ id: row.id });
    agent.report({ id: row.id, revision: 2, status: "killed", reason: "stopped", exitedAgeMs: 1 });
    expect(await rig.until(row.id, statusIs("killed"))).toMatchObject({ reason: "stopped" });
  });

  it("a process that was given up and runs all the same runs on", async () => {
    const node = await rig.node();
    const row = await ranBefore(node.id);
    const wiped = await rig.online(node.id);
    await rig.until(row.id, statusIs("lost"));
    wiped.cut();
    const agent = await rig.online(node.id, { inventory: [running(row)] });
    await settled(agent);
    expect(agent.all("stop")).toEqual([]);
  });

  it("a stop that was asked for meanwhile is asked for again", async () => {
    const node = await rig.node();
    const row = await ranBefore(node.id);
    await stop(row.id);
    const agent = await rig.online(node.id, { inventory: [running(row)] });
    expect(await agent.next("stop")).toEqual({ type: "stop", id: row.id, ...stopNow });
  });

  it("a start that was stopped before it arrived is canceled, and the node is told in case it comes late", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id);
    await stop(row.id);
    const agent = await rig.online(node.id);
    expect(await agent.next("stop")).toMatchObject({ id: row.id });
    expect(await rig.until(row.id, statusIs("canceled"))).toMatchObject({ reason: null });
    await settled(agent);
    expect(agent.all("start")).toEqual([]);
  });

  it("a start that never arrived and has waited for as long as it may is expired, and the node is told in case it comes late", async () => {
    const node = await rig.node();
    const late = { ifOffline: "queue", queueTtlMs: 1000, createdAt: new Date(Date.now() - 2000) } as const;
    const row = await rig.start(node.id, late);
    const agent = await rig.online(node.id);
    expect(await rig.until(row.id, statusIs("expired"))).toMatchObject({ reason: "queue_ttl" });
    await settled(agent);
    expect([agent.all("start"), agent.all("stop")]).toMatchObject([[], [{ id: row.id }]]);
  });

  it("a start that another machine had may run there, however long it has waited and whoever stopped it", async () => {
    const node = await rig.node();
    const former = await rig.online(node.id, { machineId: "former" });
    const late = { ifOffline: "queue", queueTtlMs: 1000, createdAt: new Date(Date.now() - 2000) } as const;
    const [waited, stopped] = [await rig.start(node.id, late), await rig.start(node.id)];
    await stop(stopped.id);
    former.cut();
    await rig.online(node.id, { machineId: "clone" });
    for (const { id } of [waited, stopped])
      expect(await rig.until(id, (row) => row.status !== "starting")).toMatchObject({
        status: "lost",
        reason: "unconfirmed",
      });
  });

  it("a process that runs though its row says it never will is stopped", async () => {
    const node = await rig.node();
    const row = await rig.start(node.id, { status: "queued", ifOffline: "queue" });
    await stop(row.id);
    const agent = await rig.online(node.id, { inventory: [running(row)] });
    expect(await agent.next("stop")).toMatchObject({ id: row.id });
  });

  it("a process that is reported though its row says it never will run is stopped, and its row tells how it ended", async () => {
    const node = await rig.node();
    const agent = await rig.online(node.id);
    await settled(agent);
    const row = await rig.start(node.id, { status: "queued", ifOffline: "queue" });
    await stop(row.id);
    agent.report({ id: row.id });
    expect(await agent.next("stop")).toMatchObject({ id: row.id, graceMs: 5000 });
    expect(rig.lines).toContainEqual({
      event: "process.unwanted",
      fields: { nodeId: node.id, processId: row.id, status: "canceled" },
    });
    agent.report({ id: row.id, revision: 2, status: "killed", reason: "stopped", exitedAgeMs: 1 });
    expect(await rig.until(row.id, statusIs("killed"))).toMatchObject({ reason: "stopped", pid: 7 });
  });

  it("a process that no row knows is left alone, logged, and forgotten once it has ended", async () => {
    const node = await rig.node();
    const id = `proc_${"z".repeat(26)}`;
    const agent = await rig.online(node.id, { inventory: [{ id, status: "running", revision: 4 }] });
    await settled(agent);
    expect(agent.all("stop")).toEqual([]);
    expect(rig.lines).toContainEqual({
      event: "process.unknown",
      fields: { nodeId: node.id, processId: id },
    });
    agent.say({ type: "reports", reports: [exited(id, 5)] });
    expect(await agent.next("acknowledge")).toMatchObject({ acks: [{ id, revision: 5 }] });
    expect(await agent.next("forget")).toMatchObject({ ids: [id] });
  });

  it("what was queued while the node was away starts, oldest first, as far as there are places", async () => {
    const node = await rig.node();
    const rows = [];
    for (let index = 0; index < 3; index += 1)
      rows.push(await rig.start(node.id, { status: "queued", ifOffline: "queue" }));
    const agent = await rig.online(node.id, { facts: { maxProcesses: 2 } });
    expect([(await agent.next("start")).launch.id, (await agent.next("start")).launch.id]).toEqual([
      rows[0]?.id,
      rows[1]?.id,
    ]);
    expect(rig.hub.free(node.id)).toBe(0);
    agent.say({ type: "reports", reports: [exited(String(rows[0]?.id), 1)] });
    expect((await agent.next("start")).launch.id).toBe(rows[2]?.id);
  });

  it("a sealed part that cannot be opened ends its start as failed, says why, and holds up no other", async () => {
    const node = await rig.node();
    const bad = await rig.start(node.id, { sealed: new Uint8Array(40) });
    const good = await rig.start(node.id);
    const agent = await rig.online(node.id);
    expect((await agent.next("start")).launch.id).toBe(good.id);
    expect(await rig.until(bad.id, statusIs("failed"))).toMatchObject({
      reason: "secret_unreadable",
      detail: expect.stringContaining("its env and stdin cannot be opened"),
    });
  });

  /** The comparison is done: a queued start is looked for after it. */
  async function settled(agent: FarEnd): Promise<void> {
    const nodeId = agent.all("welcome")[0]?.nodeId ?? "";
    await expect.poll(() => rig.hub.free(nodeId)).toBeGreaterThan(0);
  }
});
