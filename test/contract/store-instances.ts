import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { enrolledNode, newSession, type OpenStore } from "./store-samples.ts";

/** `url` reaches the same database: the age of an instance goes by its clock. */
export function instancesContract(store: OpenStore, url: () => string): void {
  const instances = () => store().instances;
  const letters = () => store().letters;

  async function registered(): Promise<string> {
    const id = newId("inst");
    await instances().register({ id, place: "test", version: "1" });
    return id;
  }

  async function silent(id: string): Promise<void> {
    const sql = postgres(url(), { max: 1, onnotice: () => {} });
    await sql`update instances set seen_at = now() - interval '16 seconds' where id = ${id}`;
    await sql.end();
  }

  describe("an instance", () => {
    it("is among the living while it says so", async () => {
      const [one, other] = [await registered(), await registered()];
      expect(await instances().beat(one)).toEqual(expect.arrayContaining([one, other]));
      await silent(other);
      expect(await instances().beat(one)).not.toContain(other);
      expect(await instances().beat(other)).toContain(other);
    });

    it("is buried when it was silent for too long: its nodes are free, and it hears of it", async () => {
      const [one, dead] = [await registered(), await registered()];
      const [kept, freed] = [await enrolledNode(store()), await enrolledNode(store())];
      await store().nodes.connected(kept.id, { ...newSession, instance: one });
      await store().nodes.connected(freed.id, { ...newSession, instance: dead });
      // Others of this database may be silent for long: they go first.
      expect((await instances().bury()).nodes).not.toContain(freed.id);
      await silent(dead);
      expect(await store().nodes.find(freed.id)).toMatchObject({ heldBy: null });
      expect(await instances().bury()).toEqual({ instances: [dead], nodes: [freed.id] });
      expect(await store().nodes.find(freed.id)).toMatchObject({ heldBy: null, connectedAt: null });
      expect(await store().nodes.find(kept.id)).toMatchObject({ heldBy: one });
      expect(await instances().beat(dead)).toBeUndefined();
    });

    it("that leaves frees its nodes, and one that is alone frees those of all others", async () => {
      const [leaving, left, staying] = [await registered(), await registered(), await registered()];
      const node = await enrolledNode(store());
      await store().nodes.connected(node.id, { ...newSession, instance: leaving });
      expect(await instances().remove({ only: leaving })).toEqual([node.id]);
      await store().nodes.connected(node.id, { ...newSession, instance: left });
      expect(await instances().remove({ allBut: staying })).toContain(node.id);
      expect(await instances().beat(staying)).toEqual([staying]);
    });
  });

  describe("an instance that lives for ever", () => {
    const silence = new Date(Date.now() + 60_000);

    it("is never buried, however often it is registered and others are", async () => {
      const id = newId("inst");
      for (let times = 0; times < 2; times++)
        await instances().register({ id, place: "test", version: "1", forever: true });
      const node = await enrolledNode(store());
      await store().nodes.connected(node.id, { ...newSession, instance: id });
      expect((await instances().bury()).instances).not.toContain(id);
      expect(await instances().beat(await registered())).toContain(id);
      expect(await store().nodes.find(node.id)).toMatchObject({ heldBy: id });
    });

    it("asks for those of its nodes that were not heard of for a while", async () => {
      const [id, other] = [await registered(), await registered()];
      const [own, another] = [await enrolledNode(store()), await enrolledNode(store())];
      await store().nodes.connected(own.id, { ...newSession, instance: id });
      await store().nodes.connected(another.id, { ...newSession, instance: other });
      expect(await store().nodes.unheard(id, silence)).toEqual([own.id]);
      expect(await store().nodes.unheard(id, new Date(0))).toEqual([]);
    });
  });

  describe("letters", () => {
    it("are taken once, in the order in which they were sent", async () => {
      const [sender, recipient] = [await registered(), await registered()];
      const bodies = Array.from({ length: 20 }, (_, n) => `letter ${n}`);
      await letters().send(
        sender,
        bodies.slice(0, 12).map((body) => ({ recipient, body })),
      );
      await letters().send(
        sender,
        bodies.slice(12).map((body) => ({ recipient, body })),
      );
      const first = await letters().take(recipient, 15);
      const second = await letters().take(recipient, 15);
      expect([first.more, second.more]).toEqual([true, false]);
      expect([...first.letters, ...second.letters]).toEqual(bodies.map((body) => ({ sender, body })));
      expect((await letters().take(recipient, 15)).letters).toEqual([]);
    });

    it("that lay for so long that nobody waits for them are dropped", async () => {
      const [sender, recipient] = [await registered(), await registered()];
      await letters().send(sender, [{ recipient, body: "old" }]);
      const sql = postgres(url(), { max: 1, onnotice: () => {} });
      await sql`update relay set sent_at = now() - interval '31 seconds' where recipient = ${recipient}`;
      await sql.end();
      await letters().send(sender, [{ recipient, body: "new" }]);
      expect((await letters().take(recipient, 9)).letters).toEqual([{ sender, body: "new" }]);
      expect((await letters().take(recipient, 9)).letters).toEqual([]);
    });

    it("to the holder of a node reach whoever has its socket, and nobody when that is the sender or dead", async () => {
      const [sender, holder] = [await registered(), await registered()];
      const { id: nodeId } = await enrolledNode(store());
      const sent = () => letters().sendToHolder(sender, { nodeId, body: "hello" });
      expect(await sent()).toBeUndefined();
      await store().nodes.connected(nodeId, { ...newSession, instance: holder });
      expect(await sent()).toBe(holder);
      expect((await letters().take(holder, 9)).letters).toEqual([{ sender, body: "hello" }]);
      await silent(holder);
      expect(await sent()).toBeUndefined();
      await store().nodes.connected(nodeId, { ...newSession, instance: sender });
      expect(await sent()).toBeUndefined();
    });
  });

  describe("notices", () => {
    it("bring many topics to all who listen, whatever their length together", async () => {
      const topics = Array.from({ length: 1000 }, (_, n) => `process:${"x".repeat(20)}${n}`);
      const heard: string[] = [];
      const all = Promise.withResolvers<void>();
      const listening = Promise.withResolvers<void>();
      const listener = store().notices.listen({
        onTopics: (sender, some) => {
          if (sender === "inst_speaker") heard.push(...some);
          if (heard.length >= topics.length) all.resolve();
        },
        onListening: () => listening.resolve(),
        onFailure: all.reject,
      });
      await listening.promise;
      await store().notices.send("inst_speaker", topics);
      await all.promise;
      await listener.close();
      expect(heard).toEqual(topics);
    });
  });

  describe("a lease", () => {
    it("belongs to one holder until its time has passed, who may keep it", async () => {
      const name = newId("req");
      const takes = await Promise.all(["a", "b", "c"].map((who) => store().leases.take(name, who, 60_000)));
      expect(takes.filter(Boolean)).toHaveLength(1);
      const holder = ["a", "b", "c"][takes.indexOf(true)] ?? "";
      expect(await store().leases.take(name, holder, 0)).toBe(true);
      expect(await store().leases.take(name, "d", 60_000)).toBe(true);
      expect(await store().leases.take(name, holder, 60_000)).toBe(false);
    });
  });
}
