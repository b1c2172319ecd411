import fc from "fast-check";
import { expect, test } from "vitest";
import { stripAnsi } from "#shared/output/ansi.ts";

test.each([
  ["colours", "\u001b[1;31mred\u001b[0m", "red"],
  ["cursor and modes", "\u001b[2J\u001b[?25lx\u001b[10;5H", "x"],
  ["a title", "\u001b]0;title\u0007text", "text"],
  ["a hyperlink", "\u001b]8;;https://example.com\u001b\\link\u001b]8;;\u001b\\", "link"],
  ["single escapes", "\u001b7a\u001b8\u001b(Bb\u001b=", "ab"],
  ["a device string", "a\u001bPq#0;2\u001b\\b", "ab"],
  ["8-bit forms", "\u009b31mred\u009d0;t\u009c!", "red!"],
  ["a string that never ends", "\u001b]8;;x", "8;;x"],
  ["an escape at the very end", "a\u001b", "a"],
])("%s are taken out", (_, written, shown) => {
  expect(stripAnsi(written)).toBe(shown);
});

test("carriage returns, tabs, backspaces and other text stay", () => {
  const text = "10%\r20%\r\n\ta\bé\u0085😀";
  expect(stripAnsi(text)).toBe(text);
});

test("text without control signs is untouched", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-composite" }), (text) => {
      fc.pre(!/[\u0080-\u009f]/.test(text));
      expect(stripAnsi(text)).toBe(text);
    }),
  );
});

test.each(["\u001b]", "\u009d", "\u001b[", "\u001b[0;", "\u001bP\u0090", "\u001b("])(
  "1 MiB of %j comes out short",
  (unit) => {
    expect(stripAnsi(unit.repeat((1024 * 1024) / unit.length)).length).toBeLessThan(1024 * 1024);
  },
);
