import { describe, expect, it } from "vitest";
import { after, noon, type OpenStore } from "./store-samples.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

export function secretsContract(store: OpenStore): void {
  describe("named secrets", () => {
    it("are stored once and replaced after that, listed by name without their values, and gone when deleted", async () => {
      const { secrets } = store();
      const set = (name: string, value: number, now = noon) =>
        secrets.set({ name, sealed: bytes(value), now });
      expect(await set("b", 1)).toEqual({
        row: { name: "b", createdAt: noon, updatedAt: noon },
        created: true,
      });
      await set("a", 2);
      await set("B", 3);
      expect(await set("b", 4, after(1000))).toEqual({
        row: { name: "b", createdAt: noon, updatedAt: after(1000) },
        created: false,
      });
      const names = async (query: { limit: number; after?: string }) =>
        (await secrets.list(query)).map(({ name }) => name);
      expect(await names({ limit: 9 })).toEqual(["B", "a", "b"]);
      expect(await names({ limit: 1, after: "B" })).toEqual(["a"]);
      const sealed = await secrets.sealed(["b", "nobody", "a"]);
      expect(Object.fromEntries([...sealed].map(([name, value]) => [name, [...value]]))).toEqual({
        a: [2],
        b: [4],
      });
      expect([await secrets.delete("a"), await secrets.delete("a")]).toEqual([true, false]);
      for (const name of ["b", "B"]) await secrets.delete(name);
    });
  });

  describe("sealed values", () => {
    it("that another key sealed are found in batches, and replaced only as they were read", async () => {
      const { secrets, sealedValues } = store();
      const mark = bytes(2, 1, 1, 1, 1);
      for (const [name, first] of [
        ["s1", 9],
        ["s2", 2],
        ["s3", 9],
      ] as const)
        await secrets.set({ name, sealed: bytes(first, 1, 1, 1, 1, 7), now: noon });
      const others = async (from: string, limit: number) =>
        (await sealedValues.others("secrets", { mark, after: from, limit })).map(({ id }) => id);
      expect(await others("", 9)).toEqual(["s1", "s3"]);
      expect(await others("", 1)).toEqual(["s1"]);
      expect(await others("s1", 9)).toEqual(["s3"]);
      const replace = (was: number) =>
        sealedValues.replace("secrets", {
          id: "s1",
          was: bytes(was, 1, 1, 1, 1, 7),
          sealed: bytes(...mark, 8),
        });
      expect([await replace(8), await replace(9), await replace(9)]).toEqual([false, true, false]);
      expect(await others("", 9)).toEqual(["s3"]);
      for (const place of ["processes", "fanouts"] as const)
        expect(await sealedValues.others(place, { mark, after: "\x7f", limit: 9 })).toEqual([]);
      for (const name of ["s1", "s2", "s3"]) await secrets.delete(name);
    });
  });
}
