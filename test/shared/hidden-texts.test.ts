import { describe, expect, it } from "vitest";
import { hiddenTexts } from "#shared/hidden-texts.ts";

describe("hidden texts", () => {
  it("are shown by no line, as they are and as JSON has them, the longer one of two first", () => {
    const { hide, masked } = hiddenTexts();
    hide("hunter2");
    hide("hunter2-and\nmore");
    expect(masked(`{"a":"hunter2-and\\nmore"} hunter2-and\nmore hunter2`)).toBe(`{"a":"***"} *** ***`);
    expect(masked("nothing")).toBe("nothing");
  });

  it("that were hidden last are kept when there are too many, and those for always", () => {
    const { hide, masked } = hiddenTexts(2);
    hide("first-of-all", "always");
    for (const name of ["one-1", "two-2", "three-3", "four-4", "five-5"]) hide(name);
    expect(masked("first-of-all one-1 four-4 five-5")).toBe("*** one-1 *** ***");
  });

  it.each([
    ["a join token", "drvj_0123456789abcdefghij", "drvj_***"],
    ["an admin token", "(drva_0123456789abcdefghij)", "(drva_***)"],
    ["the key of a node", "node_01k0abc.AbC-_123456789012345 x", "node_01k0abc.*** x"],
    ["what follows Bearer", "Authorization: Bearer abc.def x", "Authorization: Bearer *** x"],
  ])("need not be told of %s", (_what, line, shown) => {
    expect(hiddenTexts().masked(line)).toBe(shown);
  });
});
