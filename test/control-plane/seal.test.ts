import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sealWith } from "../../control-plane/seal.ts";

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
});
