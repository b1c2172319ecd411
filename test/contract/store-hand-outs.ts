import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import type { HandOut, NodeRow, StartInHand } from "../../control-plane/store/store.ts";
import {
  after,
  enrolledNode,
  inserted,
  newSession,
  noon,
  processOf,
  report,
  taken,
  type OpenStore,
} from "./store-samples.ts";

export function handOutsContract(store: OpenStore): void {
  const processes = () => store().processes;
  const notDelivered = { status: "expired", reason: "not_delivered" } as const;
  const stop = { graceMs: 1, reason: "stopped", now: noon } as const;
  const onNode = async (nodeId = newId("node")) => inserted(store(), { nodeId, sealed: new Uint8Array([1]) });
  const queued = async () => {
    const row = await onNode();
    await processes().putBack([row], noon);
    return row;
  };
  const heard = async () => {
    const row = await onNode();
    await taken(store(), row.nodeId, [report(row.id, 1, { status: "starting" })]);
    return row;
  };
  /** The node, and the sessions that it had. */
  const withSessions = async (count: number): Promise<NodeRow> => {
    const node = await enrolledNode(store());
    for (let n = 0; n < count; n++) await store().nodes.connected(node.id, newSession);
    return node;
  };

  describe("a start in hand", () => {
    it("comes with what is sealed of it, under a number that it never had before", async () => {
      const row = await onNode();
      const seen: (HandOut | undefined)[] = [row];
      const next = async (start: StartInHand | undefined) => {
        expect(start).toMatchObject({ id: row.id, status: "starting", sealed: expect.anything() });
        seen.push(start);
        await processes().putBack(start ? [start] : [], noon);
      };
      await next(await processes().takeOver(row));
      for (let n = 0; n < 2; n++) await next((await processes().takeQueued(row.nodeId, 1, noon))[0]);
      expect(seen.map((each) => each?.handOut)).toEqual([0, 1, 2, 3]);
    });

    it("is given away to one of many that come with the same letter", async () => {
      const row = await onNode();
      const all = await Promise.all(Array.from({ length: 5 }, () => processes().takeOver(row)));
      expect(all.filter((each) => each !== undefined)).toHaveLength(1);
    });

    it("is taken by the newest session of its node, whoever had it, and by no other", async () => {
      const node = await withSessions(2);
      const row = await onNode(node.id);
      const elsewhere = await onNode();
      const given = await processes().takeOver(row);
      const take = (epoch: number) =>
        processes().takeMissing({ nodeId: node.id, epoch }, [row.id, elsewhere.id]);
      expect(await take(1)).toEqual([]);
      expect(await take(2)).toMatchObject([{ id: row.id, handOut: 2 }]);
      expect(await processes().putBack(given ? [given] : [], noon)).toEqual([]);
    });

    it("is neither put back nor ended by who had it before", async () => {
      const row = await onNode();
      await processes().takeOver(row);
      expect(await processes().putBack([row], noon)).toEqual([]);
      expect(await processes().endUnheard([row], notDelivered, noon)).toEqual([]);
      expect((await processOf(store(), row.id)).status).toBe("starting");
    });

    it.each([
      ["queued", queued],
      ["of which its node was heard", heard],
    ])("is nobody's when it is %s", async (_, made) => {
      const row = await made();
      const before = await processOf(store(), row.id);
      const node =
        (await store().nodes.find(row.nodeId)) ?? (await enrolledNode(store(), { nodeId: row.nodeId }));
      expect(await processes().takeOver(before)).toBeUndefined();
      expect(await processes().takeMissing({ nodeId: node.id, epoch: node.epoch }, [row.id])).toEqual([]);
      expect(await processes().putBack([before], noon)).toEqual([]);
      expect(await processes().endUnheard([before], notDelivered, noon)).toEqual([]);
      expect(await processOf(store(), row.id)).toEqual(before);
    });

    it("that was stopped is canceled instead of queued, with what was sealed removed", async () => {
      const row = await onNode();
      await processes().requestStop(row.id, stop);
      expect(await processes().putBack([row], noon)).toEqual([row.id]);
      expect(await processOf(store(), row.id)).toMatchObject({
        status: "canceled",
        reason: null,
        stop: null,
      });
      expect(await processes().sealed(row.id)).toBeNull();
    });

    it("ends as who has it says, and has to be confirmed anew when it was taken anew", async () => {
      const [ended, again] = [await onNode(), await onNode()];
      expect(await processes().endUnheard([ended], notDelivered, after(900))).toEqual([ended.id]);
      expect(await processOf(store(), ended.id)).toMatchObject(notDelivered);
      await processes().confirm([again.id]);
      await processes().takeOver(again);
      const unconfirmed = await processes().unconfirmed(new Date(Date.now() + 60_000));
      expect(unconfirmed).toContainEqual(expect.objectContaining({ id: again.id, handOut: 1 }));
    });
  });
}
