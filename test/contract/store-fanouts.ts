import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { processTemplate } from "#shared/api/process.ts";
import { newId } from "#shared/ids.ts";
import type {
  Advance,
  Claim,
  FanoutNodeRow,
  FanoutPlan,
  FanoutRow,
  NewFanout,
  Outlook,
} from "../../control-plane/store/store.ts";
import { after, ending, enrolledNode, newProcess, noon, type OpenStore } from "./store-samples.ts";

const plan = (change: Partial<FanoutPlan> = {}): FanoutPlan => ({
  parallel: null,
  staggerMs: null,
  canary: null,
  maxFailures: null,
  ifOffline: "fail",
  expiresMs: null,
  acceptedFailures: 0,
  ...change,
});

/** An outlook that leaves the fan-out as it is. */
const outlook =
  (change: Partial<Outlook> = {}) =>
  ({ status, reason }: FanoutRow): Outlook => ({
    status,
    reason,
    expire: false,
    room: 0,
    lookAt: null,
    ...change,
  });

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export function fanoutsContract(store: OpenStore): void {
  const fanouts = () => store().fanouts;
  const online = async (): Promise<{ id: string; name: string }> => {
    const node = await enrolledNode(store());
    const hello = { instanceId: "i", machineId: "m", bootId: "b", facts: {}, now: noon };
    await store().nodes.connected(node.id, hello);
    return { id: node.id, name: node.name };
  };
  const many = (count: number) => Promise.all(Array.from({ length: count }, online));
  const made = async (change: Partial<NewFanout> = {}): Promise<NewFanout> => {
    const fanout: NewFanout = {
      id: newId("fan"),
      selector: "*",
      process: processTemplate.parse({ command: "hostname" }),
      sealed: null,
      plan: plan(),
      createdAt: noon,
      expiresAt: null,
      nodes: change.nodes ?? (await many(2)),
      ...change,
    };
    await fanouts().create(fanout);
    return fanout;
  };
  const advance = async (id: string, change: Partial<Outlook> = {}, more: Partial<Advance> = {}) => {
    const step = await fanouts().advance(id, {
      now: after(1000),
      outlook: outlook(change),
      newProcessId: () => newId("proc"),
      graceMs: 60_000,
      staleMs: 3000,
      batch: 100,
      ...more,
    });
    if (step.outcome !== "advanced") throw new Error(`a step said ${step.outcome}`);
    return step;
  };
  const rows = (id: string): Promise<FanoutNodeRow[]> => fanouts().nodes(id, { limit: 1000 });
  const statuses = async (id: string) => (await rows(id)).map(({ status }) => status);
  const begin = (id: string, { nodeId, processId }: Claim) =>
    store().processes.insert({
      ...newProcess({ nodeId, fanoutId: id, createdAt: after(1000) }),
      id: processId,
    });
  const start = async (id: string, room = 1000): Promise<Claim[]> => {
    const { starts } = await advance(id, { room });
    for (const claim of starts) expect(await begin(id, claim)).toMatchObject({ outcome: "inserted" });
    return starts;
  };
  const end = (claim: Claim, change: Parameters<typeof ending>[2] = {}) =>
    store().processes.takeReports(claim.nodeId, [ending(claim.processId, 1, change)]);

  describe("a fan-out", () => {
    it("reads back as it was made, with a waiting row for each node in its order from the start", async () => {
      const sealed = new Uint8Array([7, 0, 255]);
      const fanout = await made({
        sealed,
        plan: plan({ parallel: "25%", maxFailures: 2 }),
        expiresAt: after(5000),
      });
      const { sealed: _sealed, nodes, ...rest } = fanout;
      expect(await fanouts().get(fanout.id)).toEqual({
        ...rest,
        status: "running",
        reason: null,
        lastStartAt: null,
        endedAt: null,
        counts: expect.objectContaining({ waiting: 2, running: 0, succeeded: 0, skipped: 0 }),
      });
      expect(new Uint8Array((await fanouts().sealed(fanout.id)) ?? [])).toEqual(sealed);
      expect(await rows(fanout.id)).toMatchObject(
        nodes.map(({ id, name }, position) => ({
          ...{ nodeId: id, nodeName: name, position, status: "waiting", attempt: 1 },
          ...{ processId: null, startedAt: null, endedAt: null },
        })),
      );
      expect(await fanouts().get(newId("fan"))).toBeUndefined();
    });

    it("is listed newest first, and its nodes page by page", async () => {
      const [one, other] = [await made(), await made()];
      const [newer, older] = [one.id, other.id].toSorted().toReversed();
      expect((await fanouts().list({ limit: 2 })).map(({ id }) => id)).toEqual([newer, older]);
      expect((await fanouts().list({ limit: 1, after: newer })).map(({ id }) => id)).toEqual([older]);
      expect(await fanouts().open()).toEqual(expect.arrayContaining([one.id, other.id]));
      expect(await fanouts().nodes(one.id, { limit: 5, after: 0 })).toMatchObject([{ position: 1 }]);
    });
  });

  describe("a step", () => {
    it("claims as many waiting nodes as there is room, in order, each with an id of its own", async () => {
      const { id, nodes } = await made({ nodes: await many(3) });
      const { starts, changed } = await advance(id, { room: 2 });
      expect(changed).toBe(true);
      expect(starts.map(({ nodeId }) => nodeId)).toEqual(nodes.slice(0, 2).map((node) => node.id));
      expect(await rows(id)).toMatchObject([
        { status: "running", processId: starts[0]?.processId, startedAt: null },
        { status: "running", processId: starts[1]?.processId },
        { status: "waiting", processId: null },
      ]);
      expect((await fanouts().get(id))?.lastStartAt).toEqual(after(1000));
      expect(await advance(id)).toMatchObject({ changed: false, starts: [], ended: [] });
    });

    it("is taken by one at a time: no node is claimed twice", async () => {
      const { id } = await made({ nodes: await many(4) });
      const how: Advance = {
        ...{ now: noon, graceMs: 1, staleMs: 60_000, batch: 100, newProcessId: () => newId("proc") },
        outlook: outlook({ room: 1 }),
      };
      const steps = await Promise.all(Array.from({ length: 8 }, () => fanouts().advance(id, how)));
      const claimed = steps.flatMap((step) => (step.outcome === "advanced" ? step.starts : []));
      expect(new Set(claimed.map(({ nodeId }) => nodeId)).size).toBe(claimed.length);
      expect((await statuses(id)).filter((status) => status === "running")).toHaveLength(claimed.length);
    });

    it("skips a node that was deleted or is offline; one that went away meanwhile gets time to be back", async () => {
      const [gone, away, off] = [await online(), await online(), await online()];
      await store().nodes.delete(gone.id, noon);
      await store().nodes.disconnected(away.id, { epoch: 1, orderly: false, now: after(10) });
      await store().nodes.disconnected(off.id, { epoch: 1, orderly: true, now: after(10) });
      const { id } = await made({ nodes: [gone, away, off] });
      expect(await advance(id, { room: 9 })).toMatchObject({ starts: [], lookAt: after(1000) });
      expect(await rows(id)).toMatchObject([
        { status: "skipped", reason: "node_deleted", endedAt: after(1000) },
        { status: "waiting", reason: null },
        { status: "skipped", reason: "node_offline" },
      ]);
      await advance(id, { room: 9 }, { now: after(61_000) });
      expect((await rows(id))[1]).toMatchObject({ status: "skipped", reason: "node_offline" });
    });

    it("passes over nodes that are away when it may wait for them", async () => {
      const [off, there] = [await online(), await online()];
      await store().nodes.disconnected(off.id, { epoch: 1, orderly: true, now: after(-5000) });
      const { id } = await made({ nodes: [off, there], plan: plan({ ifOffline: "queue" }) });
      const { starts } = await advance(id, { room: 1 });
      expect(starts.map(({ nodeId }) => nodeId)).toEqual([there.id]);
      expect(await statuses(id)).toEqual(["waiting", "running"]);
    });

    it("skips all that wait when its time has passed, and asks for the outlook again", async () => {
      const { id } = await made();
      const step = await advance(
        id,
        {},
        {
          outlook: (row) => ({
            ...outlook()(row),
            expire: row.counts.waiting > 0,
            reason: `w${row.counts.waiting}`,
          }),
        },
      );
      expect(step).toMatchObject({ changed: true, fanout: { reason: "w0", counts: { skipped: 2 } } });
      expect(await rows(id)).toMatchObject([{ reason: "expired" }, { reason: "expired" }]);
    });

    it("takes over how processes ended, once", async () => {
      const { id } = await made({ nodes: await many(8) });
      const claims = await start(id);
      const endings = [
        { exitCode: 0 },
        { exitCode: 3 },
        { exitCode: null, signal: "SEGV" },
        { status: "timed_out", exitCode: null, reason: "idle_timeout" },
        { status: "lost", exitCode: null, reason: "node_rebooted" },
        { status: "killed", exitCode: null, reason: "stopped" },
        { status: "failed", exitCode: null, reason: "cwd_not_found" },
      ] as const;
      for (const [at, how] of endings.entries()) {
        const claim = claims[at];
        if (claim !== undefined) await end(claim, how);
      }
      const { ended } = await advance(id);
      expect(ended.toSorted()).toEqual(
        claims
          .slice(0, 7)
          .map(({ processId }) => processId)
          .toSorted(),
      );
      expect(await rows(id)).toMatchObject([
        { status: "succeeded", exitCode: 0, reason: null, startedAt: after(1000), endedAt: after(60) },
        { status: "failed", exitCode: 3, reason: null },
        { status: "failed", exitCode: null, reason: "signal" },
        { status: "timed_out", reason: "idle_timeout" },
        { status: "lost", reason: "node_rebooted" },
        { status: "failed", reason: "stopped" },
        { status: "failed", reason: "cwd_not_found" },
        { status: "running" },
      ]);
      expect(await fanouts().running(id)).toEqual([claims[7]?.processId]);
      expect((await advance(id)).ended).toEqual([]);
    });

    it("loses a node whose process was deleted before its ending was taken over", async () => {
      const { id } = await made({ nodes: [await online()] });
      const [claim] = await start(id);
      if (claim === undefined) throw new Error("nothing was claimed");
      await end(claim);
      await store().processes.delete(claim.processId);
      await advance(id);
      expect(await rows(id)).toMatchObject([{ status: "lost", reason: "process_deleted" }]);
    });

    it("skips a node whose process was never delivered, or lets it wait again where that may be", async () => {
      for (const [ifOffline, status, processId] of [
        ["fail", "skipped", expect.any(String)],
        ["queue", "waiting", null],
      ] as const) {
        const { id } = await made({ nodes: [await online()], plan: plan({ ifOffline }) });
        const [claim] = await start(id);
        await store().processes.conclude([claim?.processId ?? ""], {
          ...{ status: "expired", reason: "not_delivered", now: after(2000) },
          onlyStatuses: ["starting"],
        });
        await advance(id);
        expect(await rows(id)).toMatchObject([{ status, processId, reason: "not_delivered", attempt: 1 }]);
      }
    });

    it("keeps the outlook: final ones have an end and take no more steps", async () => {
      const { id } = await made({ sealed: new Uint8Array([1]) });
      await advance(id, { status: "succeeded", reason: null });
      expect(await fanouts().get(id)).toMatchObject({ status: "succeeded", endedAt: after(1000) });
      expect(await fanouts().sealed(id)).toBeNull();
      expect(await fanouts().open()).not.toContain(id);
      const how = { now: noon, graceMs: 1, staleMs: 1, batch: 1, newProcessId: () => "" };
      expect(await fanouts().advance(id, { ...how, outlook: outlook() })).toEqual({ outcome: "closed" });
    });
  });

  describe("a claim", () => {
    it("becomes one process, however often it is tried", async () => {
      const { id } = await made({ nodes: [await online()] });
      const { starts } = await advance(id, { room: 1 });
      const [claim] = starts;
      if (claim === undefined) throw new Error("nothing was claimed");
      const tries = await Promise.all(Array.from({ length: 10 }, () => begin(id, claim)));
      expect(tries.filter(({ outcome }) => outcome === "inserted")).toHaveLength(1);
      expect(tries.filter(({ outcome }) => outcome === "claim_gone")).toHaveLength(9);
      expect(await store().processes.list({ fanoutId: id, limit: 10 })).toMatchObject([
        { id: claim.processId, fanoutId: id },
      ]);
      expect((await rows(id))[0]?.startedAt).toEqual(after(1000));
    });

    it("that nobody used for a while is given out again under the same id", async () => {
      const { id } = await made({ nodes: [await online()] });
      const { starts } = await advance(id, { room: 1 });
      expect((await advance(id, {}, { now: after(3999) })).starts).toEqual([]);
      expect((await advance(id, {}, { now: after(4000) })).starts).toEqual(starts);
      const [claim] = starts;
      if (claim !== undefined) await begin(id, claim);
      expect((await advance(id, {}, { now: after(9000) })).starts).toEqual([]);
    });

    it.each(["pause", "cancel", "refuse"] as const)(
      "becomes no process after a %s, and a used one stays",
      async (verb) => {
        const { id } = await made();
        const [used, unused] = (await advance(id, { room: 2 })).starts;
        if (used === undefined || unused === undefined) throw new Error("too few claims");
        await begin(id, used);
        const refusals = [used, unused].map((claim) => ({
          ...claim,
          status: "skipped" as const,
          reason: "node_leased",
        }));
        if (verb === "pause") await fanouts().pause(id, "requested");
        else if (verb === "cancel") await fanouts().cancel(id, after(2000));
        else await fanouts().refuse(id, refusals, after(2000));
        expect(await begin(id, unused)).toEqual({ outcome: "claim_gone" });
        const left = { pause: "waiting", cancel: "canceled", refuse: "skipped" }[verb];
        expect(await rows(id)).toMatchObject([
          { status: "running", processId: used.processId },
          { status: left, processId: null },
        ]);
      },
    );
  });

  describe("steering", () => {
    it("pauses and resumes, and accepts the failures so far", async () => {
      const { id } = await made();
      const [claim] = await start(id, 1);
      if (claim !== undefined) await end(claim, { exitCode: 1 });
      await advance(id);
      await fanouts().pause(id, "requested");
      expect(await fanouts().get(id)).toMatchObject({ status: "paused", reason: "requested" });
      await fanouts().pause(id, "again");
      expect(await fanouts().get(id)).toMatchObject({ reason: "requested" });
      await fanouts().resume(id);
      expect(await fanouts().get(id)).toMatchObject({
        status: "running",
        reason: null,
        plan: { acceptedFailures: 1 },
      });
    });

    it("cancels what waits, and says which processes still have to be stopped", async () => {
      const { id } = await made();
      const [claim] = await start(id, 1);
      await fanouts().cancel(id, after(2000));
      expect(await statuses(id)).toEqual(["running", "canceled"]);
      expect(await fanouts().get(id)).toMatchObject({ status: "running", reason: "canceling" });
      await fanouts().pause(id, "requested");
      expect((await advance(id)).stops).toEqual([claim?.processId]);
      const stop = { graceMs: 0, reason: "stopped", now: noon } as const;
      await store().processes.requestStop(claim?.processId ?? "", stop);
      expect((await advance(id)).stops).toEqual([]);
      if (claim !== undefined) await end(claim, { status: "killed", exitCode: null, reason: "stopped" });
      expect(await fanouts().retry(id, noon)).toBe(0);
      await advance(id);
      expect(await statuses(id)).toEqual(["canceled", "canceled"]);
    });

    it("retries what ended without success as a new attempt, also of a final one, with its time anew", async () => {
      const { id } = await made({
        plan: plan({ expiresMs: 1000, acceptedFailures: 3 }),
        nodes: await many(3),
      });
      const [good, bad] = await start(id, 2);
      if (good !== undefined && bad !== undefined) {
        await end(good);
        await end(bad, { exitCode: 1 });
      }
      await advance(id);
      await advance(id, { status: "failed", reason: "node_failures" });
      expect(await fanouts().retry(id, after(9000))).toBe(1);
      expect(await fanouts().get(id)).toMatchObject({
        ...{ status: "running", reason: null, endedAt: null, expiresAt: after(10_000) },
        plan: { acceptedFailures: 0, expiresMs: 1000 },
      });
      expect(await rows(id)).toMatchObject([
        { status: "succeeded", attempt: 1 },
        {
          status: "waiting",
          attempt: 2,
          processId: null,
          exitCode: null,
          sha256: null,
          startedAt: null,
          endedAt: null,
        },
        { status: "waiting", attempt: 1 },
      ]);
    });
  });

  describe("what nodes wrote", () => {
    const snapshot = (text: string, stream: "merged" | "stdout" = "merged") => {
      const head = Buffer.from(text);
      return { stream, head, tail: Buffer.alloc(0), totalBytes: head.length };
    };

    it("is folded by status, code and bytes; the digest of a whole merged output is that of its bytes", async () => {
      const { id, nodes } = await made({ nodes: await many(5) });
      const [a, b, c, d] = await start(id, 4);
      const told = (claim: Claim | undefined, text: string, exitCode = 0) =>
        claim &&
        end(claim, { exitCode, totalBytes: text.length, snapshots: text === "" ? [] : [snapshot(text)] });
      await told(a, "x\n");
      await told(b, "same\n");
      await told(c, "same\n");
      await told(d, "", 1);
      await advance(id);
      const { groups, groupCount } = await fanouts().groups(id, { groups: 2, names: 1 });
      expect(groupCount).toBe(3);
      expect(groups).toEqual([
        ...[
          {
            count: 2,
            nodes: [nodes[1]?.name],
            status: "succeeded",
            exitCode: 0,
            sha256: sha256("same\n"),
            processId: b?.processId,
          },
        ],
        ...[
          {
            count: 1,
            nodes: [nodes[0]?.name],
            status: "succeeded",
            exitCode: 0,
            sha256: sha256("x\n"),
            processId: a?.processId,
          },
        ],
      ]);
      expect((await rows(id))[3]).toMatchObject({ status: "failed", sha256: sha256("") });
    });

    it("counts overlapping heads and tails once, and tells outputs apart that differ in length only", async () => {
      const { id } = await made({ nodes: await many(3) });
      const [whole, long, longer] = await start(id);
      const both = (totalBytes: number) => ({
        ...{ stream: "merged" as const, head: Buffer.from("abcd"), tail: Buffer.from("cdef") },
        totalBytes,
      });
      for (const [claim, totalBytes] of [
        [whole, 6],
        [long, 100],
        [longer, 101],
      ] as const)
        if (claim !== undefined) await end(claim, { totalBytes, snapshots: [both(totalBytes)] });
      await advance(id);
      const digests = (await rows(id)).map((row) => row.sha256);
      expect(digests[0]).toBe(sha256("abcdef"));
      expect(new Set(digests).size).toBe(3);
    });

    it("is read back for many processes at once, without those whose bytes were never reported", async () => {
      const { id } = await made({ nodes: await many(3) });
      const [full, silent, partial] = await start(id);
      if (!full || !silent || !partial) throw new Error("too few claims");
      await end(full, { totalBytes: 3, snapshots: [snapshot("abc")] });
      await end(silent);
      await end(partial, { totalBytes: 9, snapshots: [snapshot("a", "stdout")] });
      const kept = await fanouts().kept([full.processId, silent.processId, partial.processId]);
      expect([...kept.keys()].toSorted()).toEqual([full.processId, silent.processId].toSorted());
      expect(Buffer.from(kept.get(full.processId)?.[0]?.head ?? []).toString()).toBe("abc");
      expect(kept.get(silent.processId)).toEqual([]);
    });
  });

  it("forgets fan-outs that ended long ago, with their nodes", async () => {
    const [old, open] = [await made(), await made()];
    await advance(old.id, { status: "failed", reason: "node_failures" });
    expect(await fanouts().prune(after(1000), 10)).toBe(0);
    expect(await fanouts().prune(after(1001), 10)).toBeGreaterThan(0);
    expect(await fanouts().get(old.id)).toBeUndefined();
    expect(await rows(old.id)).toEqual([]);
    expect(await fanouts().get(open.id)).toBeDefined();
  });

  it("stands for itself as what an Idempotency-Key made", async () => {
    const { id } = await made();
    const claim = { scope: newId("req"), key: "k", digest: "d", objectId: id, now: noon };
    const cutOff = store().idempotency.once(claim, () => Promise.reject(new Error("cut off")));
    await expect(cutOff).rejects.toThrow("cut off");
    const again = { ...claim, objectId: newId("fan") };
    expect(await store().idempotency.once(again, () => Promise.resolve(again.objectId))).toEqual({
      outcome: "replayed",
      objectId: id,
    });
  });
}
