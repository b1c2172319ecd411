import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linesWanted, tailLines } from "#shared/output/tail-lines.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("the number of lines asked for", () => {
  test.each([
    [undefined, 40],
    [0, 40],
    [-1, 40],
    [2.5, 40],
    ["", 40],
    ["x", 40],
    [Number.NaN, 40],
    [Number.POSITIVE_INFINITY, 40],
    [null, 40],
    ["7", 7],
    [1, 1],
    [200, 200],
    [201, 200],
    ["99999", 200],
  ])("%j means %i", (raw, lines) => {
    expect(linesWanted(raw)).toBe(lines);
  });
});

describe("the last lines", () => {
  test("end with the final newline as written, which begins no empty line", () => {
    expect(tailLines(bytes("a\nb\nc\n"), 2)).toEqual({ from: 2, text: "b\nc\n" });
    expect(tailLines(bytes("a\nb\nc"), 2)).toEqual({ from: 2, text: "b\nc" });
    expect(tailLines(bytes("a\n\n\n"), 2)).toEqual({ from: 2, text: "\n\n" });
    expect(tailLines(bytes("a"), 2)).toEqual({ from: 0, text: "a" });
    expect(tailLines(bytes(""), 2)).toEqual({ from: 0, text: "" });
  });

  test("are the lines of the whole text", () => {
    const lines = fc.array(fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\r") }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(lines, fc.integer({ min: 1, max: 14 }), (all, wanted) => {
        const text = all.map((line) => `${line}\n`).join("");
        const shown = tailLines(bytes(text), wanted);
        const last = all
          .slice(-wanted)
          .map((line) => `${line}\n`)
          .join("");
        expect(shown).toEqual({ from: bytes(text).length - bytes(last).length, text: last });
      }),
    );
  });

  test("are at most 8,000 code points, from the end", () => {
    const shown = tailLines(bytes(`${"x".repeat(100)}${"😀".repeat(8000)}`), 5, 1000);
    expect(shown).toEqual({ from: 1100, text: "😀".repeat(8000) });
    expect([...tailLines(new Uint8Array(9000).fill(0xff), 5).text]).toHaveLength(8000);
  });

  test("skip the rest of a code point that was cut before them, and only then", () => {
    expect(tailLines(bytes("€b").subarray(1), 5, 77)).toEqual({ from: 79, text: "b" });
    expect(tailLines(bytes("€b").subarray(1), 5, 0)).toEqual({ from: 0, text: "\uFFFD\uFFFDb" });
  });
});
