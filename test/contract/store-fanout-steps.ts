import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import type { Advance, Claim } from "../../control-plane/store/store.ts";
import { fanoutSamples, outlook, plan } from "./fanout-samples.ts";
import { after, noon, type OpenStore } from "./store-samples.ts";

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export function fanoutStepsContract(store: OpenStore): void {
  const { fanouts, online, many, made, advance, rows, statuses, start, end } = fanoutSamples(store);

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
}
