import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { mayAdvance, processStatuses, type ProcessStatus } from "#shared/process-state.ts";
import type { ProcessRow, Store } from "../../control-plane/store/store.ts";
import { after, ending, inserted, processOf, report, taken, type OpenStore } from "./store-samples.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (of: string) => new TextEncoder().encode(of);
const stop = (graceMs: number) => ({ graceMs, reason: "stopped", now: after(500) }) as const;

async function inStatus(store: Store, status: ProcessStatus): Promise<ProcessRow> {
  const row = await inserted(store, { status: status === "queued" ? "queued" : "starting" });
  if (status !== "queued" && status !== "starting")
    await taken(store, "node_00000000000000000000000000", [report(row.id, 1, { status })]);
  return processOf(store, row.id);
}

export function reportsContract(store: OpenStore): void {
  const processes = () => store().processes;
  const take = (...batch: ReturnType<typeof report>[]) =>
    taken(store(), "node_00000000000000000000000000", batch);

  describe("a report", () => {
    it("brings the whole state of an ending, and removes what was sealed", async () => {
      const { id } = await inserted(store(), { sealed: new Uint8Array([1]) });
      await take(report(id, 1));
      expect(await processes().sealed(id)).not.toBeNull();
      const last = ending(id, 2, {
        status: "killed",
        reason: "stopped",
        detail: "by hand",
        exitCode: null,
        signal: "TERM",
        totalBytes: 2 ** 45,
        omittedBytes: 7,
        lines: 3,
        survivors: [{ pid: 7, command: "nul \0" }],
      });
      expect(await take(last)).toEqual({ changed: [id], unknown: [], unwanted: [], outdated: [] });
      const { id: _id, snapshots: _snapshots, ...expected } = last;
      expect(await processOf(store(), id)).toMatchObject({
        ...expected,
        survivors: [{ pid: 7, command: "nul \ufffd" }],
      });
      expect(await processes().sealed(id)).toBeNull();
    });

    it.each(processStatuses)(
      "changes the state of a process that is %s exactly as mayAdvance says, and its totals always",
      async (now) => {
        for (const next of processStatuses) {
          const { id } = await inStatus(store(), now);
          await take(report(id, 2, { status: next, exitCode: 9, exitedAt: after(77), totalBytes: 123 }));
          const advanced = mayAdvance(now, next);
          const expected = {
            status: advanced ? next : now,
            exitCode: advanced ? 9 : null,
            totalBytes: 123,
            revision: 2,
          };
          expect(await processOf(store(), id)).toMatchObject(expected);
        }
      },
    );

    it("counts once: not again, not when older, not for another node", async () => {
      const { id } = await inserted(store());
      expect(await take(report(id, 5, { totalBytes: 5 }))).toEqual({
        changed: [id],
        unknown: [],
        unwanted: [],
        outdated: [],
      });
      expect(await take(report(id, 5, { totalBytes: 6 }))).toEqual({
        changed: [],
        unknown: [],
        unwanted: [],
        outdated: [],
      });
      expect(await take(ending(id, 4))).toEqual({ changed: [], unknown: [], unwanted: [], outdated: [] });
      expect(await taken(store(), "node_00000000000000000000000001", [ending(id, 9)])).toEqual({
        changed: [],
        unknown: [id],
        unwanted: [],
        outdated: [],
      });
      expect(await processOf(store(), id)).toMatchObject({ status: "running", totalBytes: 5, revision: 5 });
    });

    it("is the end of what was lost, also by the count of another agent, and goes on by that count", async () => {
      const { id } = await inserted(store());
      await take(report(id, 9, { status: "lost", reason: "node_rebooted" }));
      expect(await take(report(id, 3, { totalBytes: 7 }))).toMatchObject({ changed: [] });
      expect(await take(ending(id, 4))).toMatchObject({ changed: [id] });
      expect(await processOf(store(), id)).toMatchObject({ status: "exited", reason: null, revision: 4 });
      expect(await take(ending(id, 4))).toMatchObject({ changed: [] });
    });

    it("leaves the survivors of an ended row alone while the agent only comes to look for them", async () => {
      const { id } = await inserted(store());
      const survivors = [{ pid: 7, command: "server" }];
      await take(ending(id, 1, { survivors }));
      await take(report(id, 2, { totalBytes: 5 }));
      expect(await processOf(store(), id)).toMatchObject({ status: "exited", survivors, totalBytes: 5 });
      await take(ending(id, 3));
      expect(await processOf(store(), id)).toMatchObject({ survivors: [] });
    });

    it.each([
      ["canceled", null],
      ["expired", "not_delivered"],
    ] as const)(
      "tells how a process ended that was said to be %s and ran all the same",
      async (status, reason) => {
        const start = await inserted(store());
        await processes().conclude([start.id], { status, reason, now: after(1), onlyStatuses: ["starting"] });
        const { id } = start;
        expect(await take(report(id, 1))).toMatchObject({ changed: [id], unwanted: [id] });
        expect(await processOf(store(), id)).toMatchObject({ status, reason, pid: 42 });
        expect(await take(report(id, 2, { status: "canceled", pid: null }))).toMatchObject({ unwanted: [] });
        expect(await processOf(store(), id)).toMatchObject({ status, reason });
        expect(await take(ending(id, 1, { status: "killed", reason: "stopped" }))).toMatchObject({
          changed: [id],
        });
        expect(await processOf(store(), id)).toMatchObject({ status: "killed", reason: "stopped" });
        expect(await take(ending(id, 3))).toMatchObject({ unwanted: [] });
        expect(await processOf(store(), id)).toMatchObject({ status: "killed" });
      },
    );

    it("brings pid, folder and start also to a row that is stopping already, and keeps the first start time", async () => {
      const { id } = await inStatus(store(), "starting");
      await take(report(id, 1, { status: "stopping", pid: null, cwd: null, startedAt: null }));
      await take(report(id, 2, { status: "running", pid: 77, startedAt: after(5) }));
      await take(report(id, 3, { status: "running", pid: null, startedAt: after(6) }));
      expect(await processOf(store(), id)).toMatchObject({
        status: "stopping",
        pid: 77,
        cwd: "/home/me",
        startedAt: after(5),
      });
    });
  });

  describe("a batch of reports", () => {
    it("places an end no earlier than the start that an earlier report placed", async () => {
      const { id } = await inserted(store());
      await take(report(id, 1, { startedAt: after(20) }));
      await take(ending(id, 2, { startedAt: after(18), exitedAt: after(19) }));
      expect(await processOf(store(), id)).toMatchObject({ startedAt: after(20), exitedAt: after(20) });
    });

    it("takes hundreds in one call, and says which rows are unknown", async () => {
      const rows = await Promise.all(Array.from({ length: 300 }, () => inserted(store())));
      const unknown = newId("proc");
      const result = await take(
        ...rows.map(({ id }, n) => ending(id, 1, { exitCode: n % 200 })),
        ending(unknown, 1),
      );
      expect(result.changed.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
      expect(result.unknown).toEqual([unknown]);
      expect((await processOf(store(), rows[151]?.id ?? "")).exitCode).toBe(151);
    });

    it("lets the newest of one process win whatever the order, with the snapshots of all", async () => {
      const { id } = await inserted(store());
      const stdout = { stream: "stdout", head: bytes("o"), tail: bytes(""), totalBytes: 1 } as const;
      const stderr = { stream: "stderr", head: bytes("e"), tail: bytes(""), totalBytes: 1 } as const;
      await take(
        ending(id, 3, { snapshots: [{ ...stderr, head: bytes("E") }] }),
        report(id, 2, { snapshots: [stdout, stderr] }),
      );
      expect(await processOf(store(), id)).toMatchObject({ status: "exited", revision: 3 });
      const kept = (await processes().outputs(id)).map((each) => [each.stream, text(each.head)]);
      expect(kept).toEqual([
        ["stderr", "E"],
        ["stdout", "o"],
      ]);
    });

    it("is nothing when empty, and two at once lose no row", async () => {
      expect(await take()).toEqual({ changed: [], unknown: [], unwanted: [], outdated: [] });
      const rows = await Promise.all(Array.from({ length: 50 }, () => inserted(store())));
      const batch = rows.map(({ id }) => report(id, 1));
      await Promise.all([
        take(...batch),
        take(...batch.toReversed().map((each) => ({ ...each, revision: 2, totalBytes: 2 }))),
      ]);
      for (const { id } of rows)
        expect(await processOf(store(), id)).toMatchObject({ revision: 2, totalBytes: 2 });
    });
  });

  describe("the kept output", () => {
    it("is the newest head and tail, byte for byte", async () => {
      const { id } = await inserted(store());
      const all = Uint8Array.from({ length: 16_384 }, (_, n) => n % 256);
      const first = { stream: "merged", head: all, tail: new Uint8Array(), totalBytes: 16_384 } as const;
      await take(report(id, 1, { snapshots: [first] }));
      await take(report(id, 2, { snapshots: [{ ...first, tail: all.toReversed(), totalBytes: 99_999 }] }));
      await take(report(id, 3));
      const [kept, ...more] = await processes().outputs(id);
      expect(more).toEqual([]);
      expect(kept?.totalBytes).toBe(99_999);
      expect(new Uint8Array(kept?.head ?? [])).toEqual(all);
      expect(new Uint8Array(kept?.tail ?? [])).toEqual(all.toReversed());
    });
  });

  describe("the unfinished rows of a node", () => {
    it("are those not final, oldest first, and those with survivors", async () => {
      const nodeId = newId("node");
      const rows = [];
      for (let n = 0; n < 4; n++) rows.push(await inserted(store(), { nodeId }));
      const [live, ended, withSurvivors, queued] = rows.map(({ id }) => id).toSorted() as [
        string,
        string,
        string,
        string,
      ];
      await taken(store(), nodeId, [
        ending(ended, 1),
        ending(withSurvivors, 1, { survivors: [{ pid: 7, command: "server" }] }),
      ]);
      expect((await processes().unfinished(nodeId)).map(({ id }) => id)).toEqual([
        live,
        withSurvivors,
        queued,
      ]);
    });
  });

  describe("a stop that was asked for", () => {
    it("cancels a queued row at once and for good", async () => {
      const { id } = await inserted(store(), { status: "queued", sealed: new Uint8Array([1]) });
      expect(await processes().requestStop(id, stop(100))).toMatchObject({
        status: "canceled",
        stop: null,
        exitCode: null,
      });
      expect(await processes().sealed(id)).toBeNull();
      expect(
        await processes().takeQueued("node_00000000000000000000000000", 100, after(0)),
      ).not.toContainEqual(expect.objectContaining({ id }));
    });

    it("is remembered with its first reason and the smallest grace until the end", async () => {
      const { id } = await inserted(store());
      expect(await processes().requestStop(id, stop(3000))).toMatchObject({
        status: "starting",
        stop: { graceMs: 3000, reason: "stopped" },
      });
      await take(report(id, 1));
      const again = await processes().requestStop(id, { ...stop(100), reason: "chat_deleted" });
      expect(again).toMatchObject({ status: "stopping", stop: { graceMs: 100, reason: "stopped" } });
      expect(await processes().requestStop(id, stop(9000))).toMatchObject({ stop: { graceMs: 100 } });
      await take(ending(id, 2));
      expect(await processOf(store(), id)).toMatchObject({ status: "exited", stop: null });
    });

    it("changes nothing of an ended row, is kept for survivors, and is undefined for an unknown id", async () => {
      const { id } = await inserted(store());
      await take(ending(id, 1, { survivors: [{ pid: 7, command: "server" }] }));
      expect(await processes().requestStop(id, stop(1))).toMatchObject({
        status: "exited",
        stop: { graceMs: 1 },
      });
      await take(ending(id, 2));
      expect(await processes().requestStop(id, stop(1))).toMatchObject({ status: "exited", stop: null });
      expect(await processes().requestStop(newId("proc"), stop(1))).toBeUndefined();
    });
  });

  describe("a conclusion by rule", () => {
    it("ends only rows in the named states, and none that has ended", async () => {
      const starting = await inStatus(store(), "starting");
      const running = await inStatus(store(), "running");
      const done = await inStatus(store(), "exited");
      const ids = [starting, running, done].map(({ id }) => id);
      const rule = { status: "lost", reason: "unconfirmed", now: after(900) } as const;
      expect(await processes().conclude(ids, { ...rule, onlyStatuses: ["starting"] })).toEqual([starting.id]);
      expect(await processOf(store(), starting.id)).toMatchObject({
        status: "lost",
        reason: "unconfirmed",
        exitCode: null,
        exitedAt: null,
      });
      expect(await processes().conclude(ids, { ...rule, onlyStatuses: [...processStatuses] })).toEqual([
        running.id,
      ]);
      expect(await processes().conclude([], { ...rule, onlyStatuses: ["running"] })).toEqual([]);
    });

    it("lets a lost process take its true ending later", async () => {
      const { id } = await inStatus(store(), "running");
      await processes().conclude([id], {
        status: "lost",
        reason: "node_gone",
        now: after(900),
        onlyStatuses: ["running"],
      });
      await take(ending(id, 2, { exitCode: 3 }));
      expect(await processOf(store(), id)).toMatchObject({ status: "exited", reason: null, exitCode: 3 });
    });
  });

  describe("what is no longer needed", () => {
    it("is deleted one by one only when it ended without survivors, outputs included", async () => {
      const { id } = await inserted(store());
      expect(await processes().delete(id)).toBe("not_ended");
      await take(
        ending(id, 1, {
          survivors: [{ pid: 7, command: "server" }],
          snapshots: [{ stream: "merged", head: bytes("x"), tail: bytes(""), totalBytes: 1 }],
        }),
      );
      expect(await processes().delete(id)).toBe("not_ended");
      await take(ending(id, 2));
      expect(await processes().delete(id)).toBe("deleted");
      expect(await processes().delete(id)).toBe("unknown");
      expect(await processes().outputs(id)).toEqual([]);
      expect(await take(report(id, 3))).toEqual({ changed: [], unknown: [id], unwanted: [], outdated: [] });
    });

    it("is pruned by the time it ended, the oldest first, so many at a time", async () => {
      const long = new Date("2020-01-01T00:00:00Z");
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) {
        const { id } = await inserted(store(), { createdAt: long });
        await take(ending(id, 1, { observedAt: after(n * 1000, long) }));
        ids.push(id);
      }
      expect(await processes().prune(after(60_000, long), 2)).toBe(2);
      expect(await processes().get(ids[1] ?? "")).toBeUndefined();
      expect(await processes().get(ids[2] ?? "")).toBeDefined();
      expect(await processes().prune(after(60_000, long), 10)).toBe(1);
    });
  });

  describe("a longer timeout", () => {
    it("is part of the launch from then on", async () => {
      const { id } = await inserted(store());
      expect((await processes().setTimeoutMs(id, 315_360_000_000))?.launch.timeoutMs).toBe(315_360_000_000);
      expect(await processes().setTimeoutMs(newId("proc"), 1)).toBeUndefined();
    });
  });
}
