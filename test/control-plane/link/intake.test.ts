import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../../../control-plane/store/store.ts";
import { exited, reportOf } from "./far-end.ts";
import { openRig, type Rig } from "./rig.ts";

type TakeReports = Store["processes"]["takeReports"];

/** A rig whose `takeReports` a test may hold up or break. */
async function rigWith(around: (take: TakeReports) => TakeReports): Promise<Rig> {
  const rig = await openRig({}, (store) => {
    const takeReports = around((reports) => store.processes.takeReports(reports));
    return { ...store, processes: { ...store.processes, takeReports } };
  });
  onTestFinished(() => rig.close());
  return rig;
}

describe("reports", () => {
  it("are acknowledged after their commit, with ages turned into times of the control plane's clock", async () => {
    const rig = await rigWith((take) => take);
    const node = await rig.node();
    const row = await rig.start(node.id);
    const agent = await rig.online(node.id);
    const before = Date.now();
    agent.report({
      id: row.id,
      revision: 3,
      status: "exited",
      exitCode: 4,
      startedAgeMs: 5000,
      exitedAgeMs: 2000,
      durationMs: 3000,
    });
    expect(await agent.next("acknowledge")).toEqual({
      type: "acknowledge",
      acks: [{ id: row.id, revision: 3 }],
    });
    const after = Date.now();
    const stored = await rig.store.processes.get(row.id);
    expect(stored).toMatchObject({ status: "exited", exitCode: 4, revision: 3, durationMs: 3000 });
    expect(within(stored?.startedAt, before - 5000, after - 5000)).toBe(true);
    expect(within(stored?.exitedAt, before - 2000, after - 2000)).toBe(true);
  });

  it("that say an exit before the start are given an exit at the start", async () => {
    const rig = await rigWith((take) => take);
    const node = await rig.node();
    const row = await rig.start(node.id);
    const agent = await rig.online(node.id);
    agent.report({ id: row.id, status: "exited", startedAgeMs: 1000, exitedAgeMs: 4000 });
    await agent.next("acknowledge");
    const stored = await rig.store.processes.get(row.id);
    expect(stored?.exitedAt).toEqual(stored?.startedAt);
  });

  it("gather while others are being stored, the newest of a process first, and keep the only snapshot of an older one", async () => {
    const gate = Promise.withResolvers<void>();
    const batches: string[][] = [];
    const rig = await rigWith((take) => async (reports) => {
      batches.push(reports.map(({ report }) => `${report.id}:${report.revision}`));
      await gate.promise;
      return take(reports);
    });
    const node = await rig.node();
    const [one, two] = [await rig.start(node.id), await rig.start(node.id)];
    const agent = await rig.online(node.id);
    agent.report({ id: one.id, revision: 1 });
    const snapshot = { stream: "merged" as const, head: btoa("hello"), tail: "", totalBytes: 5 };
    agent.report({ id: two.id, revision: 2, snapshots: [snapshot], totalBytes: 5 });
    agent.report({ id: two.id, revision: 3, totalBytes: 5 });
    expect(agent.all("acknowledge")).toEqual([]);
    gate.resolve();
    await agent.next("acknowledge");
    expect(await agent.next("acknowledge")).toEqual({
      type: "acknowledge",
      acks: [{ id: two.id, revision: 3 }],
    });
    expect(batches).toEqual([[`${one.id}:1`], [`${two.id}:3`]]);
    const [output] = await rig.store.processes.outputs(two.id);
    expect(new TextDecoder().decode(output?.head)).toBe("hello");
  });

  it("wait while the database is away and are acknowledged once it is back", async () => {
    let failures = 3;
    const rig = await rigWith((take) => (reports) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new Error("connection refused")) : take(reports);
    });
    const node = await rig.node();
    const row = await rig.start(node.id);
    const agent = await rig.online(node.id);
    agent.report({ id: row.id });
    expect(await agent.next("acknowledge")).toMatchObject({ acks: [{ id: row.id, revision: 1 }] });
    expect(agent.all("acknowledge")).toHaveLength(1);
    expect(rig.lines.filter((line) => line.event === "reports.not_stored")).toHaveLength(3);
  });

  it("that the database refuses hold up no other and are never acknowledged", async () => {
    const rig = await rigWith((take) => async (batch) => {
      if (batch.some(({ report }) => report.pid === 13))
        throw Object.assign(new Error("a value is out of range"), { code: "22003" });
      return take(batch);
    });
    const node = await rig.node();
    const [bad, good] = [await rig.start(node.id), await rig.start(node.id)];
    const agent = await rig.online(node.id);
    agent.say({
      type: "reports",
      reports: [reportOf({ id: bad.id, pid: 13 }), reportOf({ id: good.id })],
    });
    expect(await agent.next("acknowledge")).toEqual({
      type: "acknowledge",
      acks: [{ id: good.id, revision: 1 }],
    });
    expect(rig.lines).toContainEqual({
      event: "report.refused",
      fields: expect.objectContaining({ processId: bad.id }),
    });
  });

  it("beyond what may wait close their socket, so that the agent says them again later", async () => {
    const gate = Promise.withResolvers<void>();
    const rig = await rigWith(() => async () => {
      await gate.promise;
      return { changed: [], unknown: [], unwanted: [], outdated: [] };
    });
    const node = await rig.node();
    const agent = await rig.online(node.id);
    const head = btoa("x".repeat(3 * 1024 * 1024));
    for (let index = 0; index < 24; index += 1)
      agent.report({ id: `proc_${index}`, snapshots: [{ stream: "merged", head, tail: "", totalBytes: 1 }] });
    expect(await agent.closed).toMatchObject({ code: 1013 });
    gate.resolve();
  });

  it("said just before goodbye are stored", async () => {
    const rig = await rigWith((take) => take);
    const node = await rig.node();
    const row = await rig.start(node.id);
    const agent = await rig.online(node.id);
    agent.say({ type: "reports", reports: [exited(row.id)] });
    agent.say({ type: "goodbye" });
    expect(await rig.until(row.id, (now) => now.status === "exited")).toMatchObject({ exitCode: 0 });
  });

  it("free a place when they end a process, but not while survivors live", async () => {
    const rig = await rigWith((take) => take);
    const node = await rig.node();
    const row = await rig.start(node.id, { status: "queued" });
    const agent = await rig.online(node.id, { facts: { maxProcesses: 1 } });
    await agent.next("start");
    agent.say({
      type: "reports",
      reports: [{ ...exited(row.id, 2), survivors: [{ pid: 8, command: "sleep" }] }],
    });
    await agent.next("acknowledge");
    expect(rig.hub.free(node.id)).toBe(0);
    agent.say({ type: "reports", reports: [exited(row.id, 3)] });
    await agent.next("acknowledge");
    expect(rig.hub.free(node.id)).toBe(1);
  });
});

const within = (time: Date | null | undefined, from: number, to: number): boolean =>
  time !== null && time !== undefined && time.getTime() >= from && time.getTime() <= to;
