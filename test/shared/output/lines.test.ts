import fc from "fast-check";
import { expect, test } from "vitest";
import { countLines } from "#shared/output/lines.ts";

test("newlines of chunks add up to those of the stream", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("\n", "a", "é") }), fc.nat(50), (text, at) => {
      const bytes = new TextEncoder().encode(text);
      expect(countLines(bytes.subarray(0, at)) + countLines(bytes.subarray(at))).toBe(
        text.split("\n").length - 1,
      );
    }),
  );
});
