import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { joinArgv, shellQuote } from "#shared/shell-quote.ts";

test("plain words stay readable, all others are in single quotes", () => {
  expect(["a/b-c.txt", "", "a b", "it's", "$x", "~", "*"].map(shellQuote)).toEqual([
    "a/b-c.txt",
    "''",
    "'a b'",
    String.raw`'it'\''s'`,
    "'$x'",
    "'~'",
    "'*'",
  ]);
});

test("a first word that the shell would take for grammar is quoted", () => {
  expect(joinArgv(["a=b", "c=d"])).toBe("'a=b' c=d");
  expect(joinArgv(["if", "if"])).toBe("'if' if");
});

test("sh reads back exactly the words", () => {
  const word = fc.string({
    unit: fc.constantFrom(
      "a",
      "é",
      "😀",
      "'",
      '"',
      "\\",
      "$",
      "`",
      "\n",
      " ",
      "*",
      "~",
      "!",
      "#",
      "-",
      "=",
      "&",
    ),
  });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), (words) => {
      const printed = execFileSync("sh", ["-c", joinArgv(["printf", "%s\\0", ...words])], {
        encoding: "utf8",
        timeout: 10_000,
      });
      expect(printed.split("\0").slice(0, -1)).toEqual(words.length === 0 ? [""] : words);
    }),
    { numRuns: 30 },
  );
});
