import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import {
  after,
  ending,
  enrolledNode,
  inserted,
  newProcess,
  newSession,
  noon,
  processOf,
  report,
  taken,
  type OpenStore,
} from "./store-samples.ts";

export function startsContract(store: OpenStore): void {
  const processes = () => store().processes;

  describe("a start", () => {
    it("reads back as it was stored, and the sealed part apart from it", async () => {
      const sealed = new Uint8Array([0, 1, 254, 255]);
      const labels = { v: "10.5", n: "007", b: "true" };
      const start = newProcess({
        sealed,
        labels,
        launch: { argv: ["a", "é"], command: null, timeoutMs: 315_360_000_000 },
      });
      const result = await processes().insert(start);
      expect(result.outcome).toBe("inserted");
      const row = await processOf(store(), start.id);
      expect(result).toEqual({ outcome: "inserted", process: row });
      expect(row).toMatchObject({
        launch: start.launch,
        labels,
        createdAt: noon,
        status: "starting",
        revision: 0,
        stop: null,
      });
      expect(row).not.toHaveProperty("sealed");
      expect(new Uint8Array((await processes().sealed(start.id)) ?? [])).toEqual(sealed);
    });

    it("keeps a command of a mebibyte, and puts U+FFFD where text holds what a database can not", async () => {
      const command = "x".repeat(1024 * 1024);
      const { id } = await inserted(store(), { launch: { command } });
      expect((await processOf(store(), id)).launch.command).toHaveLength(command.length);
      const broken = await inserted(store(), {
        labels: { a: "nul \0 here" },
        launch: { command: "half \ud800" },
      });
      const row = await processOf(store(), broken.id);
      expect(row.labels).toEqual({ a: "nul \ufffd here" });
      expect(row.launch.command).toBe("half \ufffd");
    });

    it("is unknown by an id that nobody has", async () => {
      expect(await processes().get(newId("proc"))).toBeUndefined();
      expect(await processes().sealed(newId("proc"))).toBeNull();
      expect(await processes().outputs(newId("proc"))).toEqual([]);
    });
  });

  describe("a start with a key", () => {
    it("happens once among many at the same time; the others attach to it", async () => {
      const key = newId("req");
      const starts = Array.from({ length: 20 }, () => newProcess({ key }));
      const results = await Promise.all(starts.map((start) => processes().insert(start)));
      expect(results.filter(({ outcome }) => outcome === "inserted")).toHaveLength(1);
      expect(results.filter(({ outcome }) => outcome === "attached")).toHaveLength(19);
      expect(new Set(results.map((result) => ("process" in result ? result.process.id : "none"))).size).toBe(
        1,
      );
    });

    it("is a mismatch with other input, and belongs to its node or its chat", async () => {
      const key = newId("req");
      await inserted(store(), { key });
      expect(await processes().insert(newProcess({ key, digest: "other" }))).toEqual({ outcome: "mismatch" });
      await inserted(store(), { key, nodeId: "node_00000000000000000000000001" });
      await inserted(store(), { key, launch: { chatId: "chat_1" } });
      expect(
        await processes().insert(newProcess({ key, nodeId: "node_c", launch: { chatId: "chat_1" } })),
      ).toMatchObject({ outcome: "attached" });
    });

    it("finds start_canceled when the key was fenced first, and a fence finds the process when that came first", async () => {
      const scope = { nodeId: "node_00000000000000000000000000", chatId: null, now: noon };
      const key = newId("req");
      expect(await processes().fenceKey({ ...scope, key })).toEqual({ outcome: "fenced" });
      expect(await processes().fenceKey({ ...scope, key })).toEqual({ outcome: "fenced" });
      expect(await processes().insert(newProcess({ key }))).toEqual({ outcome: "start_canceled" });
      const other = await inserted(store(), { key: newId("req") });
      expect(await processes().fenceKey({ ...scope, key: other.key ?? "" })).toEqual({
        outcome: "found",
        process: other,
      });
    });

    it("is free again when its process was deleted", async () => {
      const key = newId("req");
      const { id } = await inserted(store(), { key });
      await taken(store(), "node_00000000000000000000000000", [ending(id, 1)]);
      expect(await processes().delete(id)).toBe("deleted");
      expect(await processes().insert(newProcess({ key }))).toMatchObject({ outcome: "inserted" });
    });
  });

  describe("the queue of a node", () => {
    it("is taken oldest first up to a number, each row by one taker only", async () => {
      const nodeId = newId("node");
      const ids: string[] = [];
      for (let n = 0; n < 6; n++)
        ids.push((await inserted(store(), { nodeId, status: "queued", ifOffline: "queue" })).id);
      ids.sort();
      const first = await processes().takeQueued(nodeId, 2, noon);
      expect(first.map(({ id, status }) => [id, status])).toEqual(
        ids.slice(0, 2).map((id) => [id, "starting"]),
      );
      const takers = await Promise.all([1, 2, 3].map(() => processes().takeQueued(nodeId, 4, noon)));
      expect(
        takers
          .flat()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(ids.slice(2));
    });

    it("gets back what was never pushed, but not what was reported", async () => {
      const nodeId = newId("node");
      const [pushed, unpushed] = [await inserted(store(), { nodeId }), await inserted(store(), { nodeId })];
      await taken(store(), nodeId, [report(pushed.id, 1, { status: "starting" })]);
      expect(await processes().putBack([pushed, unpushed], noon)).toEqual([unpushed.id]);
      expect((await processOf(store(), pushed.id)).status).toBe("starting");
      expect((await processes().takeQueued(nodeId, 10, noon)).map(({ id }) => id)).toEqual([unpushed.id]);
    });

    it("expires by its own time, and is not delivered when it may not wait", async () => {
      const nodeId = newId("node");
      const waiting = { nodeId, status: "queued" } as const;
      const patient = await inserted(store(), { ...waiting, ifOffline: "queue", queueTtlMs: 5000 });
      const short = await inserted(store(), {
        ...waiting,
        ifOffline: "queue",
        queueTtlMs: 1000,
        sealed: new Uint8Array([1]),
      });
      const urgent = await inserted(store(), { ...waiting, ifOffline: "fail", queueTtlMs: 60_000 });
      const fresh = await inserted(store(), { ...waiting, ifOffline: "fail", createdAt: after(1500) });
      expect((await processes().expireQueued(after(2000), after(1000))).toSorted()).toEqual(
        [short.id, urgent.id].toSorted(),
      );
      expect(await processOf(store(), short.id)).toMatchObject({ status: "expired", reason: "queue_ttl" });
      expect(await processes().sealed(short.id)).toBeNull();
      expect(await processOf(store(), urgent.id)).toMatchObject({
        status: "expired",
        reason: "not_delivered",
      });
      for (const { id } of [patient, fresh]) expect((await processOf(store(), id)).status).toBe("queued");
    });

    it("waits on for a place on a node that is there, until its own time has passed", async () => {
      const { id: nodeId } = await enrolledNode(store());
      await store().nodes.connected(nodeId, { ...newSession, now: noon });
      const waiting = await inserted(store(), {
        nodeId,
        status: "queued",
        ifOffline: "fail",
        queueTtlMs: 60_000,
      });
      const expired = async (atMs: number) =>
        (await processes().expireQueued(after(atMs), after(atMs - 30_000))).includes(waiting.id);
      expect(await expired(40_000)).toBe(false);
      await store().nodes.disconnected(nodeId, { epoch: 1, orderly: false, now: after(40_000) });
      expect(await expired(50_000)).toBe(false);
      await store().nodes.connected(nodeId, { ...newSession, now: after(50_000) });
      expect(await expired(61_000)).toBe(true);
      expect(await processOf(store(), waiting.id)).toMatchObject({ status: "expired", reason: "queue_ttl" });
    });

    it("shows which starts no report has confirmed; one that waited counts from when it was taken", async () => {
      const nodeId = newId("node");
      const silent = await inserted(store(), { nodeId });
      const reported = await inserted(store(), { nodeId });
      const waited = await inserted(store(), { nodeId, status: "queued", ifOffline: "queue" });
      await taken(store(), nodeId, [report(reported.id, 1, { status: "starting" })]);
      await processes().takeQueued(nodeId, 10, noon);
      const found = (await processes().unconfirmed(after(30_000))).filter((row) => row.nodeId === nodeId);
      expect(found).toEqual([{ id: silent.id, handOut: 0, nodeId, ifOffline: "fail", heldBy: null }]);
      const later = await processes().unconfirmed(new Date(Date.now() + 60_000));
      expect(later).toContainEqual({ id: waited.id, handOut: 1, nodeId, ifOffline: "queue", heldBy: null });
      await processes().confirm([waited.id]);
      expect((await processes().unconfirmed(new Date("2100-01-01"))).map(({ id }) => id)).not.toContain(
        waited.id,
      );
    });
  });

  describe("a list of processes", () => {
    it("is newest first, page by page, by node, chat, status and all labels", async () => {
      const nodeId = newId("node");
      const made = [];
      for (let n = 0; n < 5; n++)
        made.push(await inserted(store(), { nodeId, labels: { n: String(n), all: "yes" } }));
      const newestFirst = made
        .map(({ id }) => id)
        .toSorted()
        .toReversed();
      const ids = async (query: object) =>
        (await processes().list({ nodeId, limit: 50, ...query })).map(({ id }) => id);
      expect(await ids({})).toEqual(newestFirst);
      expect(await ids({ limit: 2 })).toEqual(newestFirst.slice(0, 2));
      expect(await ids({ after: newestFirst[1] })).toEqual(newestFirst.slice(2));
      expect(await ids({ labels: { n: "3", all: "yes" } })).toEqual([made[3]?.id]);
      expect(await ids({ labels: { n: "3", all: "no" } })).toEqual([]);
      expect(await ids({ labels: {} })).toEqual(newestFirst);
      expect(await ids({ statuses: ["exited", "lost"] })).toEqual([]);
      const inChat = await inserted(store(), { nodeId, launch: { chatId: newId("chat") } });
      expect(await ids({ chatId: inChat.launch.chatId })).toEqual([inChat.id]);
    });
  });
}
