import { afterEach, describe, expect, it, vi } from "vitest";
import { newSecret, sameText, sha256Hex } from "#shared/secret-text.ts";

afterEach(() => void vi.restoreAllMocks());

describe("a secret", () => {
  it("has 256 bits of its own behind its prefix", () => {
    const made = Array.from({ length: 1000 }, () => newSecret("drvt"));
    expect(new Set(made).size).toBe(1000);
    for (const secret of made) {
      expect(secret).toMatch(/^drvt_[\w-]{43}$/);
      expect(Buffer.from(secret.slice(5), "base64url")).toHaveLength(32);
    }
  });

  it("is compared as a whole, wherever the first difference is", () => {
    const known = "a".repeat(64);
    const looksAt = (sent: string): number => {
      const look = vi.spyOn(String.prototype, "charCodeAt");
      const same = sameText(sent, known);
      const looks = look.mock.calls.length;
      look.mockRestore();
      expect(same).toBe(sent === known);
      return looks;
    };
    const right = looksAt(known);
    expect(right).toBe(128);
    for (const at of [0, 1, 31, 62, 63])
      expect(looksAt(`${known.slice(0, at)}b${known.slice(at + 1)}`)).toBe(right);
    expect(looksAt(known.slice(1))).toBe(right - 2);
  });

  it("is kept as its SHA-256", async () => {
    expect(await sha256Hex("drvt_x")).toBe(
      "c2f9a3006ab9c22a8e2dc1620d93a58088034ada1bfe3211da7ad2eaf47c0cb1",
    );
  });
});
