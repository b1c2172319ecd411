import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { fanoutSamples, plan } from "./fanout-samples.ts";
import { after, noon, type OpenStore } from "./store-samples.ts";

export function fanoutsContract(store: OpenStore): void {
  const { fanouts, online, many, made, advance, rows, statuses, begin, start, end } = fanoutSamples(store);

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

    it("becomes no process while its node drains, and stands until it is taken back", async () => {
      const node = await online();
      const { id } = await made({ nodes: [node] });
      const [claim] = (await advance(id, { room: 1 })).starts;
      if (claim === undefined) throw new Error("nothing was claimed");
      await store().nodes.setDrain(node.id, { reason: "new disk", deadlineAt: null });
      expect(await begin(id, claim)).toMatchObject({ outcome: "held" });
      expect(await rows(id)).toMatchObject([{ status: "running", startedAt: null }]);
      await fanouts().refuse(id, [{ ...claim, status: "skipped", reason: "node_draining" }], after(2000));
      await store().nodes.setDrain(node.id, null);
      expect(await begin(id, claim)).toEqual({ outcome: "claim_gone" });
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
    const claim = { scope: newId("req"), key: "k", digest: "d", objectId: id, instance: "inst_a", now: noon };
    const cutOff = store().idempotency.once(claim, () => Promise.reject(new Error("cut off")));
    await expect(cutOff).rejects.toThrow("cut off");
    const again = { ...claim, objectId: newId("fan") };
    expect(await store().idempotency.once(again, () => Promise.resolve(again.objectId))).toEqual({
      outcome: "replayed",
      objectId: id,
    });
  });
}
