import { beforeEach, describe, expect, it } from "vitest";
import type { EventPosition } from "../../control-plane/store/store.ts";
import {
  after,
  ending,
  enrolledNode,
  eventsBegin,
  enrollment,
  inserted,
  joinToken,
  newSession,
  processOf,
  report,
  settledEvents,
  taken,
  type OpenStore,
} from "./store-samples.ts";

const hello = { ...newSession, clockSkewMs: 40, now: after(100) };
const load = { cpu: 0.5, memUsedBytes: 1, diskFreeBytes: 2 ** 45 };

export function presenceContract(store: OpenStore): void {
  const nodes = () => store().nodes;
  let begin: EventPosition;

  const told = async (nodeId: string) => {
    const events = await settledEvents(store(), begin, 1000);
    return events.filter((event) => event.nodeId === nodeId).map(({ type, at }) => [type, at]);
  };
  const awayNode = async (disconnectedAt: Date, orderly = false) => {
    const node = await enrolledNode(store());
    await nodes().connected(node.id, hello);
    await nodes().disconnected(node.id, { epoch: 1, orderly, now: disconnectedAt });
    return node;
  };

  describe("the presence of a node", () => {
    beforeEach(async () => {
      begin = await eventsBegin(store());
    });

    it("is told of by what changes it, and only when it changes", async () => {
      const { id } = await enrolledNode(store());
      await nodes().connected(id, hello);
      await nodes().connected(id, { ...hello, now: after(200) });
      await nodes().disconnected(id, { epoch: 1, orderly: true, now: after(300) });
      await nodes().disconnected(id, { epoch: 2, orderly: false, now: after(400) });
      await nodes().disconnected(id, { epoch: 2, orderly: false, now: after(401) });
      await nodes().connected(id, { ...hello, now: after(500) });
      await nodes().disconnected(id, { epoch: 3, orderly: true, now: after(600) });
      await nodes().connected(id, { ...hello, now: after(700) });
      await store().instances.remove({ only: hello.instance });
      await store().instances.remove({ only: hello.instance });
      await nodes().delete(id, after(900));
      await nodes().delete(id, after(901));
      expect(await told(id)).toEqual([
        ["node.enrolled", expect.any(Date)],
        ["node.online", after(100)],
        ["node.unreachable", after(400)],
        ["node.online", after(500)],
        ["node.offline", after(600)],
        ["node.online", after(700)],
        ["node.unreachable", expect.any(Date)],
        ["node.deleted", after(900)],
      ]);
    });

    it("goes from unreachable to offline once, whoever looks and however often", async () => {
      const [early, late] = [await awayNode(after(1000)), await awayNode(after(2000))];
      const orderly = await awayNode(after(1000), true);
      const never = await enrolledNode(store());
      const look = () => nodes().settleOffline({ before: after(2000), now: after(5000) });
      const looks = (await Promise.all([look(), look(), look()])).flat();
      expect(looks.filter((id) => id === early.id)).toHaveLength(1);
      expect(looks).not.toContain(late.id);
      expect(await look()).toEqual([]);
      expect((await told(early.id)).at(-1)).toEqual(["node.offline", after(5000)]);
      expect((await told(late.id)).at(-1)).toEqual(["node.unreachable", after(2000)]);
      expect((await told(orderly.id)).filter(([type]) => type === "node.offline")).toHaveLength(1);
      expect(await told(never.id)).toHaveLength(1);
      expect(await nodes().find(early.id)).toMatchObject({ offlineAt: after(5000) });
      await nodes().connected(early.id, { ...hello, now: after(6000) });
      expect(await nodes().find(early.id)).toMatchObject({ offlineAt: null });
    });

    it("an enrolment that replaces a node is told of as such, and a repeat is not", async () => {
      const node = await enrolledNode(store());
      const token = joinToken({ replace: true });
      await store().joinTokens.create(token);
      const input = enrollment(token.hash, { name: node.name, keyHash: "d".repeat(64) });
      await store().joinTokens.enroll(input);
      await store().joinTokens.enroll(input);
      const { id: nodeId, name } = node;
      expect(await settledEvents(store(), begin)).toMatchObject([
        { data: { replaced: false } },
        { nodeId, data: { name, replaced: true } },
      ]);
    });
  });

  describe("signs of life", () => {
    it("are stored for many nodes at once, each only for the epoch it is of", async () => {
      const [one, two] = [await enrolledNode(store()), await enrolledNode(store())];
      for (const { id } of [one, two]) await nodes().connected(id, hello);
      const sign = { epoch: 1, lastSeenAt: after(300), load, clockSkewMs: -7 };
      await nodes().seen([
        { ...sign, nodeId: one.id },
        { ...sign, nodeId: two.id, epoch: 2 },
        { ...sign, nodeId: "node_nobody" },
      ]);
      expect(await nodes().find(one.id)).toMatchObject({ lastSeenAt: after(300), load, clockSkewMs: -7 });
      expect(await nodes().find(two.id)).toMatchObject({
        lastSeenAt: after(100),
        load: null,
        clockSkewMs: 40,
      });
      await nodes().seen([
        { ...sign, nodeId: one.id, lastSeenAt: after(400), load: null, clockSkewMs: null },
      ]);
      expect(await nodes().find(one.id)).toMatchObject({ lastSeenAt: after(400), load, clockSkewMs: -7 });
      await nodes().seen([]);
    });
  });

  describe("what ran on a node that is gone", () => {
    const lose = (limit = 100) => nodes().loseOnGone({ before: after(10_000), now: after(20_000), limit });

    it("is lost by batches; what never left the queue waits on, and what ended stays as it is", async () => {
      const gone = await awayNode(after(9000), true);
      const away = await awayNode(after(10_000));
      const of = (nodeId: string, change = {}) => inserted(store(), { nodeId, ...change });
      const [running, starting, ended] = [await of(gone.id), await of(gone.id), await of(gone.id)];
      const [queued, elsewhere] = [await of(gone.id, { status: "queued" }), await of(away.id)];
      await taken(store(), gone.id, [report(running.id, 1), ending(ended.id, 1)]);
      expect([...(await lose(1)), ...(await lose(1))].toSorted()).toEqual(
        [running.id, starting.id].toSorted(),
      );
      expect(await lose()).toEqual([]);
      for (const { id } of [running, starting])
        expect(await processOf(store(), id)).toMatchObject({ status: "lost", reason: "node_gone" });
      expect(await processOf(store(), queued.id)).toMatchObject({ status: "queued" });
      expect(await processOf(store(), ended.id)).toMatchObject({ status: "exited" });
      expect(await processOf(store(), elsewhere.id)).toMatchObject({ status: "starting" });
    });

    it("takes its true ending should the node come back, and keeps the stop that was asked for until then", async () => {
      const node = await awayNode(after(9000));
      const { id } = await inserted(store(), { nodeId: node.id });
      await taken(store(), node.id, [report(id, 1)]);
      await store().processes.requestStop(id, { graceMs: 5, reason: "stopped", now: after(9500) });
      await lose();
      expect(await processOf(store(), id)).toMatchObject({ status: "lost", stop: { graceMs: 5 } });
      await taken(store(), node.id, [ending(id, 2)]);
      expect(await processOf(store(), id)).toMatchObject({ status: "exited", reason: null, stop: null });
    });
  });
}
