import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { headTailView, type HeadTailView } from "#shared/output/head-tail.ts";
import { decodeText } from "#shared/output/utf8.ts";

type Sizes = { headBytes: number; tailBytes: number };

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const view = (
  all: Uint8Array,
  { headBytes, tailBytes }: Sizes,
  gaps = [] as { from: number; to: number }[],
): HeadTailView =>
  headTailView({
    totalBytes: all.length,
    head: all.subarray(0, headBytes),
    tail: all.subarray(Math.max(0, all.length - tailBytes)),
    headBytes,
    tailBytes,
    gaps,
  });

describe("the head and tail of an output", () => {
  test("of 100,000 ASCII bytes keep 16 KiB each and count the rest", () => {
    const shown = view(bytes("x".repeat(100_000)), { headBytes: 16_384, tailBytes: 16_384 });
    expect(shown.truncated).toEqual({
      originalBytes: 100_000,
      retainedBytes: 32_768,
      omittedBytes: 67_232,
      cutLines: 0,
      strategy: "head_tail",
    });
    expect(shown.parts.map(({ from, to }) => [from, to])).toEqual([
      [0, 16_384],
      [83_616, 100_000],
    ]);
  });

  test("that touch or overlap are the exact text, untruncated", () => {
    const sizes = { headBytes: 4, tailBytes: 4 };
    for (const text of ["", "a", "abcd", "abcdefg", "abcdefgh", "äöü€"]) {
      if (bytes(text).length > 8) continue;
      expect(view(bytes(text), sizes)).toMatchObject({ text, truncated: null });
    }
    expect(view(bytes("aaé€b"), { headBytes: 3, tailBytes: 5 })).toMatchObject({
      text: "aaé€b",
      truncated: null,
    });
  });

  test("leave out a code point that a cut goes through, and count it as omitted", () => {
    const shown = view(bytes("a€xxxxxx€b"), { headBytes: 3, tailBytes: 2 });
    expect(shown.text).toBe("ab");
    expect(shown.truncated).toMatchObject({ originalBytes: 14, retainedBytes: 2, omittedBytes: 12 });
  });

  test("leave out a gap that reaches into them", () => {
    const shown = view(bytes("0123456789"), { headBytes: 5, tailBytes: 5 }, [{ from: 3, to: 6 }]);
    expect(shown.parts).toEqual([
      { from: 0, to: 3, text: "012" },
      { from: 6, to: 10, text: "6789" },
    ]);
    expect(shown.truncated).toMatchObject({ retainedBytes: 7, omittedBytes: 3 });
  });

  test("show every byte or count it, whatever was written, without a marker", () => {
    const any = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.string({ unit: "binary", maxLength: 30 }).map(bytes),
    );
    fc.assert(
      fc.property(any, fc.nat(40), fc.nat(40), (all, headBytes, tailBytes) => {
        const { text, parts, truncated } = view(all, { headBytes, tailBytes });
        const retained = parts.reduce((sum, part) => sum + part.to - part.from, 0);
        expect(text).toBe(parts.map((part) => part.text).join(""));
        for (const part of parts) expect(part.text).toBe(decodeText(all.subarray(part.from, part.to)));
        const whole = headBytes + tailBytes >= all.length;
        expect(whole ? text : "").toBe(whole ? decodeText(all) : "");
        expect(truncated?.originalBytes ?? retained).toBe(all.length);
        expect(truncated === null || !whole).toBe(true);
        expect(truncated?.omittedBytes ?? 0).toBe(all.length - retained);
      }),
    );
  });
});
