import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  completeUtf8Length,
  decodeText,
  isCleanText,
  startOfUtf8,
  takeCodePoints,
} from "#shared/output/utf8.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const anyText = fc.string({ unit: "binary", maxLength: 40 });

describe("UTF-8 cut at any byte", () => {
  test("a prefix ends at its last whole code point, and the rest begins at the next", () => {
    fc.assert(
      fc.property(anyText, fc.nat(200), (text, at) => {
        const all = bytes(text);
        const cut = Math.min(at, all.length);
        const whole = completeUtf8Length(all.subarray(0, cut));
        const next = cut + startOfUtf8(all.subarray(cut));
        const shown = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
        expect(text.startsWith(shown.decode(all.subarray(0, whole)))).toBe(true);
        expect(text.endsWith(shown.decode(all.subarray(next)))).toBe(true);
        expect(cut - whole).toBeLessThanOrEqual(3);
      }),
    );
  });

  test.each([
    ["a byte that can never be completed", [0x61, 0xff], 2],
    ["an overlong start", [0xe0, 0x80], 2],
    ["half a surrogate", [0xed, 0xa0], 2],
    ["beyond U+10FFFF", [0xf4, 0x90], 2],
    ["stray continuations", [0x80, 0x80, 0x80, 0x80], 4],
    ["an open three-byte code point", [0x61, 0xe2, 0x82], 1],
    ["an open four-byte code point", [0xf0, 0x9f, 0x98], 0],
  ])("%s", (_, given, length) => {
    expect(completeUtf8Length(new Uint8Array(given))).toBe(length);
  });

  test("at most three bytes are skipped at a start", () => {
    expect(startOfUtf8(new Uint8Array(5).fill(0x80))).toBe(3);
  });
});

describe("text for people and databases", () => {
  test("invalid bytes and NUL show as U+FFFD, a byte order mark stays", () => {
    expect(decodeText(new Uint8Array([0x61, 0, 0xff, 0x62]))).toBe("a\uFFFD\uFFFDb");
    expect(decodeText(bytes("\uFEFFa"))).toBe("\uFEFFa");
  });

  test("bytes are clean exactly if they decode to what they were", () => {
    expect(isCleanText(new Uint8Array([0x61, 0]))).toBe(false);
    expect(isCleanText(new Uint8Array([0xc3]))).toBe(false);
    fc.assert(fc.property(anyText, (text) => isCleanText(bytes(text)) === !text.includes("\0")));
  });
});

describe("takeCodePoints", () => {
  test("takes whole code points from either end", () => {
    fc.assert(
      fc.property(anyText, fc.nat(50), (text, max) => {
        const points = [...text];
        expect(takeCodePoints(text, max)).toBe(points.slice(0, max).join(""));
        expect(takeCodePoints(text, max, "end")).toBe(max === 0 ? "" : points.slice(-max).join(""));
      }),
    );
  });

  test("leaves no lone surrogate", () => {
    expect(takeCodePoints("a\uD83D", 5)).toBe("a\uFFFD");
    expect(takeCodePoints("\uDE00b", 5, "end")).toBe("\uFFFDb");
  });
});
