import { beforeEach, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { after, inserted, noon, type OpenStore } from "./store-samples.ts";

export function idempotencyContract(store: OpenStore): void {
  const once = (...args: Parameters<ReturnType<OpenStore>["idempotency"]["once"]>) =>
    store().idempotency.once(...args);
  const claim = (change: object = {}) => ({
    scope: "token POST /v1/processes",
    key: newId("req"),
    digest: "d",
    objectId: newId("proc"),
    instance: "inst_at_work",
    now: noon,
    ...change,
  });

  /** Claims a key and is at work on it for ever. */
  const claimedByOneWhoDies = (wanted: ReturnType<typeof claim>) =>
    new Promise<void>((resolve, reject) => {
      const create = () => {
        resolve();
        return new Promise<string>(() => {});
      };
      once(wanted, create).catch(reject);
    });

  describe("an idempotency key", () => {
    beforeEach(() => store().instances.register({ id: "inst_at_work", place: "test", version: "1" }));

    it("lets one of many at once create; the others wait for it and get the same object", async () => {
      const wanted = claim();
      let calls = 0;
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const create = async () => {
        calls++;
        await gate;
        return "proc_1";
      };
      const all = Array.from({ length: 15 }, () => once(wanted, create));
      open();
      const outcomes = await Promise.all(all);
      expect(calls).toBe(1);
      expect(outcomes.filter(({ outcome }) => outcome === "created")).toHaveLength(1);
      expect(
        outcomes.filter((each) => each.outcome === "replayed" && each.objectId === "proc_1"),
      ).toHaveLength(14);
    });

    it("holds no connection while it creates: more at once than there are connections", async () => {
      const create = () => once(claim(), async () => "inner").then(() => "outer");
      const outcomes = await Promise.all(Array.from({ length: 30 }, () => once(claim(), create)));
      expect(outcomes.every(({ outcome }) => outcome === "created")).toBe(true);
    });

    it("is a mismatch for another body, also while the first is at work, and separate in another scope", async () => {
      const wanted = claim();
      const inner = { outcome: "" };
      await once(wanted, async () => {
        inner.outcome = (await once({ ...wanted, digest: "other" }, async () => "never")).outcome;
        return "proc_1";
      });
      expect(inner.outcome).toBe("mismatch");
      expect(await once({ ...wanted, digest: "other" }, async () => "never")).toEqual({
        outcome: "mismatch",
      });
      expect(await once({ ...wanted, scope: "elsewhere" }, async () => "proc_2")).toMatchObject({
        outcome: "created",
      });
    });

    it("is free again when creating failed", async () => {
      const wanted = claim();
      await expect(once(wanted, () => Promise.reject(new Error("node is offline")))).rejects.toThrow(
        "node is offline",
      );
      expect(await once(wanted, async () => "proc_1")).toEqual({ outcome: "created", objectId: "proc_1" });
    });

    it("gives the object that is there, also when its maker was cut off before it could say so", async () => {
      const row = await inserted(store());
      const wanted = claim({ objectId: row.id });
      const cut = once(wanted, () => Promise.reject(new Error("the connection broke")));
      await expect(cut).rejects.toThrow("the connection broke");
      for (const now of [noon, after(61_000)])
        expect(await once({ ...wanted, objectId: newId("proc"), now }, async () => "never")).toEqual({
          outcome: "replayed",
          objectId: row.id,
        });
    });

    it("is taken over at once when the control plane that worked for it is gone, unless its object is there", async () => {
      const instance = newId("inst");
      await store().instances.register({ id: instance, place: "test", version: "1" });
      const made = (await inserted(store())).id;
      const [unmade, finished] = [claim({ instance }), claim({ instance, objectId: made })];
      for (const wanted of [unmade, finished]) await claimedByOneWhoDies(wanted);
      await store().instances.remove({ only: instance });
      expect(await once(unmade, async () => "proc_2")).toEqual({ outcome: "created", objectId: "proc_2" });
      expect(await once(finished, async () => "never")).toEqual({ outcome: "replayed", objectId: made });
    });

    it("is taken over when its owner died, and forgotten with age", async () => {
      const wanted = claim();
      await claimedByOneWhoDies(wanted);
      const later = { ...wanted, now: after(61_000) };
      expect(await once(later, async () => "proc_1")).toMatchObject({ outcome: "created" });
      expect(await store().idempotency.prune(after(61_001))).toBeGreaterThan(0);
      expect(await once(later, async () => "proc_2")).toMatchObject({
        outcome: "created",
        objectId: "proc_2",
      });
    });
  });
}
