import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CannotOpen, sealWith } from "../../../control-plane/secrets/seal.ts";

const secret = () => Uint8Array.from(randomBytes(32));

describe("a seal", () => {
  it("opens what it sealed, under the same context only", async () => {
    const seal = await sealWith(secret());
    const sealed = await seal.seal("hunter2 é", "proc_a");
    expect(await seal.open(sealed, "proc_a")).toBe("hunter2 é");
    await expect(seal.open(sealed, "proc_b")).rejects.toThrow("");
  });

  it("shows nothing of the text, never seals alike, and notices any change", async () => {
    const seal = await sealWith(secret());
    const [one, other] = [await seal.seal("hunter2", "c"), await seal.seal("hunter2", "c")];
    expect(Buffer.from(one).includes("hunter2")).toBe(false);
    expect(Buffer.from(one).equals(Buffer.from(other))).toBe(false);
    for (let at = 0; at < one.length; at++) {
      const changed = one.with(at, (one[at] ?? 0) ^ 1);
      await expect(seal.open(changed, "c")).rejects.toThrow("");
    }
  });

  it("of another key opens nothing and digests otherwise; the same key digests alike", async () => {
    const key = secret();
    const [one, same, other] = [await sealWith(key), await sealWith(key), await sealWith(secret())];
    await expect(other.open(await one.seal("x", "c"), "c")).rejects.toThrow("");
    expect(await one.digest("x")).toBe(await same.digest("x"));
    expect(await one.digest("x")).not.toBe(await other.digest("x"));
    expect(await one.digest("x")).toMatch(/^[0-9a-f]{64}$/);
  });

  it("that got a new key opens what the former ones sealed, and names the key that is missing", async () => {
    const [first, second, third] = [secret(), secret(), secret()];
    const before = await sealWith(second);
    const after = await sealWith(third, second, first);
    const sealed = await before.seal("x", "c");
    expect(await after.open(sealed, "c")).toBe("x");
    expect([...sealed.subarray(0, 5)]).toEqual([...before.mark]);
    expect([...(await after.seal("x", "c")).subarray(0, 5)]).toEqual([...after.mark]);
    const failure = await (await sealWith(third, first)).open(sealed, "c").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CannotOpen);
    expect(failure).toMatchObject({ keyId: before.keyId, message: expect.stringContaining(before.keyId) });
    expect(await after.olderDigests("x")).toEqual([
      await before.digest("x"),
      await (await sealWith(first)).digest("x"),
    ]);
    expect(await before.olderDigests("x")).toEqual([]);
  });

  it("opens what was sealed before keys had an id, with whichever key it was", async () => {
    // By the code of that time: the key of 32 bytes 7, the text "hunter2 é", the context proc_a.
    const key = new Uint8Array(32).fill(7);
    const sealed = Uint8Array.from(Buffer.from(withoutId, "base64"));
    expect(await (await sealWith(secret(), key)).open(sealed, "proc_a")).toBe("hunter2 é");
    await expect((await sealWith(secret())).open(sealed, "proc_a")).rejects.toThrow("not set any more");
  });
});

const withoutId = "Adaq7cU4VtvPB9XlfsAKDJp3s423p77mCINyIUkNbCSIT0UTMUlp";
