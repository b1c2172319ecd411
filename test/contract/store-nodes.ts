import { beforeEach, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import {
  after,
  ending,
  enrolledNode,
  enrollment,
  inserted,
  joinToken,
  noon,
  processOf,
  report,
  taken,
  type OpenStore,
} from "./store-samples.ts";

const hello = {
  instanceId: "i1",
  machineId: "m1",
  bootId: "b1",
  facts: { os: "linux", maxProcesses: 8 },
  clockSkewMs: -3,
  instance: "inst_of_nobody",
  now: after(100),
};

export function nodesContract(store: OpenStore): void {
  const nodes = () => store().nodes;
  const tokens = () => store().joinTokens;

  describe("a node", () => {
    it("is found by id and by name, with what lives and waits on it", async () => {
      const node = await enrolledNode(store(), { labels: { env: "prod" }, facts: { os: "linux" } });
      await inserted(store(), { nodeId: node.id, status: "queued" });
      await inserted(store(), { nodeId: node.id });
      const [ended, survived] = [
        await inserted(store(), { nodeId: node.id }),
        await inserted(store(), { nodeId: node.id }),
      ];
      await taken(store(), node.id, [
        ending(ended.id, 1),
        ending(survived.id, 1, { survivors: [{ pid: 1, command: "x" }] }),
      ]);
      const found = await nodes().find(node.name);
      expect(found).toEqual(await nodes().find(node.id));
      expect(found).toMatchObject({
        labels: { env: "prod" },
        facts: { os: "linux" },
        running: 2,
        queued: 1,
        maxProcesses: 256,
        epoch: 0,
        connectedAt: null,
      });
      expect(await nodes().find("nobody")).toBeUndefined();
      expect(await nodes().find("nul \0 in it")).toBeUndefined();
    });

    it("is listed newest first, page by page", async () => {
      const made = [];
      for (let n = 0; n < 3; n++) made.push((await enrolledNode(store())).id);
      made.sort().reverse();
      const [newest] = await nodes().list({ limit: 1 });
      expect(made).toContain(newest?.id);
      expect((await nodes().list({ limit: 2, after: made[0] })).map(({ id }) => id)).toEqual(made.slice(1));
    });

    it("changes only in the fields given, and not to a name in use", async () => {
      const [one, two] = [await enrolledNode(store(), { labels: { a: "1" } }), await enrolledNode(store())];
      expect(await nodes().patch(one.id, { maxProcesses: 7 })).toMatchObject({
        name: one.name,
        labels: { a: "1" },
        maxProcesses: 7,
      });
      expect(await nodes().patch(one.id, { labels: {} })).toMatchObject({ labels: {}, maxProcesses: 7 });
      expect(await nodes().patch(one.id, { name: two.name })).toBe("taken");
      expect(await nodes().patch(one.id, { name: one.name })).toMatchObject({ name: one.name });
      expect(await nodes().patch(newId("node"), { name: "x" })).toBeUndefined();
    });

    it("takes its unfinished processes with it as lost, keeps the ended ones, and frees its name", async () => {
      const node = await enrolledNode(store());
      const [live, queued] = [
        await inserted(store(), { nodeId: node.id }),
        await inserted(store(), { nodeId: node.id, status: "queued" }),
      ];
      const survived = await inserted(store(), { nodeId: node.id });
      await taken(store(), node.id, [ending(survived.id, 1, { survivors: [{ pid: 1, command: "x" }] })]);
      expect(await nodes().delete(node.id, after(900))).toBe(true);
      expect(await nodes().delete(node.id, after(900))).toBe(false);
      for (const { id } of [live, queued])
        expect(await processOf(store(), id)).toMatchObject({ status: "lost", reason: "node_deleted" });
      expect(await processOf(store(), survived.id)).toMatchObject({
        status: "exited",
        reason: null,
        survivors: [],
      });
      expect(await nodes().keyHash(node.id)).toBeUndefined();
      expect((await enrolledNode(store(), { name: node.name })).id).not.toBe(node.id);
    });
  });

  describe("a session", () => {
    beforeEach(() => store().instances.register({ id: hello.instance, place: "test", version: "1" }));

    it("raises the epoch, stores the hello, and only its own epoch may speak for the node", async () => {
      const { id } = await enrolledNode(store());
      const former = { formerMachineId: null, unfinished: false };
      const first = await nodes().connected(id, hello);
      expect(first).toMatchObject({ outcome: "connected", epoch: 1, maxProcesses: 8, ...former });
      const { now: connectedAt, instance: heldBy, ...said } = hello;
      expect(await nodes().find(id)).toMatchObject({
        ...said,
        heldBy,
        maxProcesses: 8,
        connectedAt,
        lastSeenAt: connectedAt,
      });
      const second = { ...hello, instanceId: "i2", facts: {}, now: after(200) };
      expect(await nodes().connected(id, second)).toMatchObject({ outcome: "connected", epoch: 2 });
      await nodes().disconnected(id, { epoch: 1, orderly: true, now: after(300) });
      await nodes().seen([{ nodeId: id, epoch: 1, load: null, lastSeenAt: after(999), clockSkewMs: 1 }]);
      expect(await nodes().find(id)).toMatchObject({
        connectedAt: after(200),
        lastSeenAt: after(200),
        clockSkewMs: -3,
        maxProcesses: 8,
        orderly: false,
      });
      await nodes().disconnected(id, { epoch: 2, orderly: true, now: after(500) });
      expect(await nodes().find(id)).toMatchObject({
        connectedAt: null,
        disconnectedAt: after(500),
        orderly: true,
      });
    });

    it("of an unknown node is none", async () => {
      expect(await nodes().connected(newId("node"), hello)).toEqual({ outcome: "unknown" });
    });

    it("takes a node from a living instance only for the same agent, or from the very epoch that was challenged", async () => {
      const { id } = await enrolledNode(store());
      const [here, there] = [newId("inst"), newId("inst")];
      for (const instance of [here, there])
        await store().instances.register({ id: instance, place: "test", version: "1" });
      await nodes().connected(id, { ...hello, instance: here });
      const other = { ...hello, instance: there, instanceId: "another agent" };
      expect(await nodes().connected(id, other)).toEqual({ outcome: "held", epoch: 1, heldBy: here });
      expect(await nodes().connected(id, { ...hello, instance: there })).toMatchObject({ epoch: 2 });
      expect(await nodes().connected(id, { ...other, instance: here, from: 1 })).toMatchObject({
        outcome: "held",
        epoch: 2,
      });
      expect(await nodes().connected(id, { ...other, instance: here, from: 2 })).toMatchObject({ epoch: 3 });
      await store().instances.remove({ only: here });
      expect(await nodes().connected(id, { ...hello, instance: there, instanceId: "a third" })).toMatchObject(
        {
          epoch: 4,
        },
      );
    });

    it("says which machine held the node before, and whether something is unfinished there", async () => {
      const { id } = await enrolledNode(store());
      await nodes().connected(id, hello);
      await inserted(store(), { nodeId: id });
      expect(await nodes().connected(id, { ...hello, machineId: "a clone" })).toMatchObject({
        formerMachineId: hello.machineId,
        unfinished: true,
      });
    });

    it("that another one has followed reports nothing any more", async () => {
      const { id } = await enrolledNode(store());
      await nodes().connected(id, hello);
      await nodes().connected(id, hello);
      const row = await inserted(store(), { nodeId: id });
      const old = { nodeId: id, epoch: 1, report: ending(row.id, 7) };
      expect(await store().processes.takeReports([old])).toMatchObject({ changed: [], outdated: [row.id] });
      expect((await processOf(store(), row.id)).status).toBe("starting");
    });
  });

  describe("an enrolment", () => {
    it("uses up one place of its token, and a repeat gives the same node and uses nothing", async () => {
      const token = joinToken({ labels: { env: "prod" } });
      await tokens().create(token);
      expect(await tokens().find(token.id)).toEqual(token);
      const input = enrollment(token.hash, { labels: { env: "dev", zone: "a" } });
      const first = await tokens().enroll(input);
      expect(first).toMatchObject({
        outcome: "enrolled",
        node: {
          id: input.nodeId,
          name: input.name,
          keyHash: input.keyHash,
          labels: { env: "prod", zone: "a" },
        },
      });
      expect(first).not.toHaveProperty("replacedNodeId");
      const repeat = await tokens().enroll({ ...input, nodeId: newId("node"), now: after(1e9) });
      expect(repeat).toMatchObject({ outcome: "repeated", node: { id: input.nodeId } });
      expect(await tokens().find(token.id)).toMatchObject({ uses: 1 });
      expect(await tokens().enroll(enrollment(token.hash, { keyHash: "b".repeat(64) }))).toEqual({
        outcome: "used_up",
      });
    });

    it("never goes over the places of a token, however many come at once", async () => {
      const token = joinToken({ maxUses: 3 });
      await tokens().create(token);
      const inputs = Array.from({ length: 8 }, (_, n) =>
        enrollment(token.hash, { keyHash: String(n).repeat(64) }),
      );
      const outcomes = (await Promise.all(inputs.map((input) => tokens().enroll(input)))).map(
        ({ outcome }) => outcome,
      );
      expect(outcomes.toSorted()).toEqual([...Array(3).fill("enrolled"), ...Array(5).fill("used_up")]);
    });

    it("says which rule refuses it", async () => {
      const strict = joinToken({ nodeName: "only-me", allowLabels: false, maxUses: 9 });
      const old = joinToken({ expiresAt: noon });
      await tokens().create(strict);
      await tokens().create(old);
      const outcome = async (...input: Parameters<typeof enrollment>) =>
        (await tokens().enroll(enrollment(...input))).outcome;
      expect(await outcome("no such hash")).toBe("bad_token");
      expect(await outcome(old.hash)).toBe("expired");
      expect(await outcome(strict.hash)).toBe("name_mismatch");
      expect(await outcome(strict.hash, { name: "only-me", labels: { a: "1" } })).toBe("labels_refused");
      const other = await enrolledNode(store());
      const free = joinToken();
      await tokens().create(free);
      expect(await outcome(free.hash, { name: other.name })).toBe("name_taken");
      expect(await tokens().find(free.id)).toMatchObject({ uses: 0 });
    });

    it("replaces a node without a session if the token says so, and never one that is connected", async () => {
      const node = await enrolledNode(store(), { labels: { kept: "1" } });
      await nodes().connected(node.id, hello);
      const live = await inserted(store(), { nodeId: node.id });
      await taken(store(), node.id, [report(live.id, 1)]);
      const token = joinToken({ replace: true });
      await tokens().create(token);
      const input = enrollment(token.hash, { name: node.name, keyHash: "c".repeat(64) });
      expect(await tokens().enroll(input)).toEqual({ outcome: "name_online" });
      await nodes().disconnected(node.id, { epoch: 1, orderly: false, now: after(500) });
      const result = await tokens().enroll(input);
      expect(result).toMatchObject({
        outcome: "enrolled",
        replacedNodeId: node.id,
        node: { id: node.id, keyHash: input.keyHash, labels: { kept: "1" } },
      });
      expect(await processOf(store(), live.id)).toMatchObject({ status: "lost", reason: "agent_state_lost" });
    });
  });
}
