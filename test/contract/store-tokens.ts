import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import type { TokenRow } from "../../control-plane/store/store.ts";
import { after, noon, type OpenStore } from "./store-samples.ts";

export function tokensContract(store: OpenStore): void {
  const tokens = () => store().tokens;

  async function stored(change: Partial<TokenRow> = {}): Promise<TokenRow> {
    const id = newId("tok");
    const token: Omit<TokenRow, "lastUsedAt"> = {
      ...{ id, hash: `hash of ${id}`, name: "ci", role: "operator", createdBy: null },
      ...{ scope: { selector: "env=ci" }, createdAt: noon, expiresAt: null },
      ...change,
    };
    await tokens().create(token);
    return { ...token, lastUsedAt: null };
  }

  describe("tokens", () => {
    it("are found by digest and by id as they were made, many at a time, until they are deleted", async () => {
      const [one, other] = [await stored(), await stored({ name: "nul \0", expiresAt: after(1000) })];
      const found = await Promise.all([one, other].map(({ hash }) => tokens().withHash(hash)));
      expect(found).toEqual([one, { ...other, name: "nul \u{FFFD}" }]);
      expect(await tokens().find(one.id)).toEqual(one);
      expect(await tokens().withHash("hash of nothing")).toBeUndefined();
      expect(await tokens().delete(one.id)).toBe(true);
      expect(await tokens().delete(one.id)).toBe(false);
      expect(await tokens().withHash(one.hash)).toBeUndefined();
      expect(await tokens().find(one.id)).toBeUndefined();
    });

    it("remember a use only where none since a time is remembered", async () => {
      const { id } = await stored();
      const lastUsedAt = async () => (await tokens().find(id))?.lastUsedAt;
      await tokens().used(id, { now: after(1000), before: noon });
      expect(await lastUsedAt()).toEqual(after(1000));
      await tokens().used(id, { now: after(2000), before: after(1000) });
      expect(await lastUsedAt()).toEqual(after(1000));
      await tokens().used(id, { now: after(2000), before: after(1001) });
      expect(await lastUsedAt()).toEqual(after(2000));
    });

    it("are listed newest first page by page, all or those that a token made", async () => {
      const { id: createdBy } = await stored();
      const made = [await stored({ createdBy }), await stored({ createdBy }), await stored({ createdBy })];
      await stored();
      const newest = made.map(({ id }) => id).toReversed();
      const ids = (rows: TokenRow[]) => rows.map(({ id }) => id);
      expect(ids(await tokens().list({ createdBy, limit: 10 }))).toEqual(newest);
      expect(ids(await tokens().list({ createdBy, limit: 1, after: newest[0] }))).toEqual([newest[1]]);
      expect(ids(await tokens().list({ limit: 200 }))).toEqual(
        expect.arrayContaining([createdBy, ...newest]),
      );
    });

    it("are forgotten a time after they expired", async () => {
      const [old, late, lasting] = [
        await stored({ expiresAt: after(-5000) }),
        await stored({ expiresAt: after(-1000) }),
        await stored(),
      ];
      expect(await tokens().prune(after(-2000))).toBe(1);
      const left = await Promise.all([old, late, lasting].map(({ id }) => tokens().find(id)));
      expect(left.map((token) => token !== undefined)).toEqual([false, true, true]);
    });
  });
}
