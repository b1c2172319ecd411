import { describe, expect, it, vi } from "vitest";
import type { AgentEnd } from "./fake-control-plane.ts";
import { reportOf } from "./fake-engine.ts";
import { linkedForEachTest } from "./linked.ts";

const linked = linkedForEachTest();

describe("reports", () => {
  const acknowledge = (end: AgentEnd, ...acks: { id: string; revision: number }[]) =>
    end.send({ type: "acknowledge", acks });

  it("go out together, each process once and at its newest", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    await end.next("load");
    linked.engine.change(reportOf("proc_1", 1));
    linked.engine.change(reportOf("proc_2", 2));
    linked.engine.change(reportOf("proc_1", 3));
    expect((await end.next("reports")).reports.map(({ id, revision }) => [id, revision])).toEqual([
      ["proc_1", 3],
      ["proc_2", 2],
    ]);
  });

  it("are sent again on the next socket until they are acknowledged", async () => {
    linked.open();
    const first = await linked.plane.welcomed();
    await first.next("load");
    linked.engine.change(reportOf("proc_1", 1));
    linked.engine.change(reportOf("proc_2", 2));
    await first.next("reports");
    acknowledge(first, { id: "proc_1", revision: 1 });
    await vi.waitFor(() => expect(linked.engine.calls).toHaveLength(1));
    first.socket.terminate();
    const second = await linked.plane.welcomed();
    expect((await second.next("reports")).reports.map(({ id }) => id)).toEqual(["proc_2"]);
  });

  it("that are many are split over frames below the limit, none left out", async () => {
    const head = Buffer.alloc(64 * 1024, 120).toString("base64");
    for (let index = 0; index < 150; index++)
      linked.engine.reports.set(
        `proc_${index}`,
        reportOf(`proc_${index}`, 1, {
          snapshots: [{ stream: "merged", head, tail: "", totalBytes: 65536 }],
        }),
      );
    linked.open();
    const end = await linked.plane.welcomed();
    const ids = new Set<string>();
    let frames = 0;
    for (; ids.size < 150; frames++) for (const { id } of (await end.next("reports")).reports) ids.add(id);
    expect(frames).toBeGreaterThan(2);
    expect(frames).toBeLessThan(10);
  });

  it("that are too large for any frame go without what can be asked for", async () => {
    const survivors = Array.from({ length: 1000 }, (_, pid) => ({ pid, command: "c".repeat(5000) }));
    linked.engine.reports.set("proc_1", reportOf("proc_1", 1, { survivors }));
    linked.open();
    const end = await linked.plane.welcomed();
    expect((await end.next("reports")).reports[0]).toMatchObject({ id: "proc_1", survivors: [] });
  });

  it("are waited for until all are acknowledged", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    await end.next("load");
    linked.engine.change(reportOf("proc_1", 1));
    let isSettled = false;
    const settling = linked.link?.settle(50_000).then(() => (isSettled = true));
    await end.next("reports");
    expect(isSettled).toBe(false);
    acknowledge(end, { id: "proc_1", revision: 1 });
    await settling;
  });
});
