import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import type { ConsoleSession } from "../../control-plane/store/store.ts";
import { after, noon, type OpenStore } from "./store-samples.ts";

export function consoleSessionsContract(store: OpenStore): void {
  const sessions = () => store().consoleSessions;
  const codes = () => store().signInCodes;

  async function stored(change: Partial<ConsoleSession> = {}): Promise<ConsoleSession> {
    const id = newId("sess");
    const session = {
      ...{
        id,
        hash: `hash of ${id}`,
        tokenHash: "hash of a token",
        user: null,
        createdAt: noon,
        expiresAt: after(60_000),
      },
      ...change,
    };
    await sessions().create(session);
    return { ...session, usedAt: session.createdAt };
  }

  describe("sessions of browsers", () => {
    it("are found by digest and by id, used as they begin, until they are deleted", async () => {
      const [one, other] = [
        await stored(),
        await stored({ createdAt: after(5), user: { name: "Zoë", role: "operator" } }),
      ];
      const found = await Promise.all([one, other].map(({ hash }) => sessions().withHash(hash)));
      expect(found).toEqual([one, other]);
      expect(await sessions().find(one.id)).toEqual(one);
      expect(await sessions().delete(one.id)).toBe(true);
      expect(await sessions().delete(one.id)).toBe(false);
      expect(await sessions().withHash(one.hash)).toBeUndefined();
      expect(await sessions().find(one.id)).toBeUndefined();
    });

    it("remember a use only where none since a time is remembered", async () => {
      const { id } = await stored();
      const usedAt = async () => (await sessions().find(id))?.usedAt;
      await sessions().used(id, { now: after(1000), before: noon });
      expect(await usedAt()).toEqual(noon);
      await sessions().used(id, { now: after(1000), before: after(1) });
      expect(await usedAt()).toEqual(after(1000));
    });

    it("are forgotten once they have expired or were not used for a time", async () => {
      const [expired, idle, good] = [
        await stored({ createdAt: after(-1000), expiresAt: after(0) }),
        await stored({ createdAt: after(-2000) }),
        await stored({ createdAt: after(-1999) }),
      ];
      expect(await sessions().prune({ now: noon, idleSince: after(-2000) })).toBe(2);
      const left = await Promise.all([expired, idle, good].map(({ id }) => sessions().find(id)));
      expect(left.map((session) => session !== undefined)).toEqual([false, false, true]);
    });
  });

  describe("sign-in codes", () => {
    const code = async (expiresAt: Date): Promise<string> => {
      const hash = newId("req");
      await codes().create({ hash, tokenHash: `token of ${hash}`, expiresAt });
      return hash;
    };

    it("go to one of all who take one", async () => {
      const hash = await code(after(1000));
      const taken = await Promise.all([1, 2, 3, 4].map(() => codes().take(hash, noon)));
      expect(taken.filter((each) => each !== undefined)).toEqual([`token of ${hash}`]);
      expect(await codes().take(hash, noon)).toBeUndefined();
    });

    it("that have expired are not given, and are forgotten", async () => {
      const [expired, good] = [await code(noon), await code(after(1))];
      expect(await codes().take(expired, noon)).toBeUndefined();
      expect(await codes().prune(noon)).toBe(1);
      expect(await codes().take(good, noon)).toBe(`token of ${good}`);
    });
  });
}
