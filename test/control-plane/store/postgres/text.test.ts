import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storable } from "../../../../control-plane/store/postgres/text.ts";

describe("storable", () => {
  it("puts U+FFFD for NUL and half surrogate pairs, in keys and at any depth", () => {
    expect(storable({ "a\0": [{ b: "\ud83d" }, "\ude00x"] })).toEqual({
      "a\ufffd": [{ b: "\ufffd" }, "\ufffdx"],
    });
  });

  it("leaves everything else as it is: whole text, bytes, times, numbers", () => {
    const value = {
      emoji: "😀",
      bytes: new Uint8Array([0]),
      at: new Date(0),
      n: 0,
      none: null,
      missing: undefined,
    };
    expect(storable(value)).toEqual(value);
    expect(storable(value).bytes).toBe(value.bytes);
  });

  it("makes any text well-formed and free of NUL, of the same length", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0xd800, max: 0xdfff }), (text, half) => {
        const stored = storable(text + String.fromCharCode(half) + text);
        expect(stored.isWellFormed() && !stored.includes("\0")).toBe(true);
        expect(stored).toHaveLength(text.length * 2 + 1);
      }),
    );
  });
});
