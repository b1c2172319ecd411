import fc from "fast-check";
import { expect, test } from "vitest";
import { globMatches } from "#shared/glob.ts";

test("a glob matches what the same regular expression matches", () => {
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
  fc.assert(
    fc.property(pattern, name, (glob, text) => {
      const same = new RegExp(`^${glob.replaceAll("*", ".*").replaceAll("?", ".")}$`);
      expect(globMatches(glob, text)).toBe(same.test(text));
    }),
  );
});
