import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlaceSet } from "../../../control-plane/actions/place-set.ts";

const setOf = (places: number[]): PlaceSet => {
  const set = new PlaceSet();
  for (const place of places) set.add(place);
  return set;
};
const most = 10_000;

describe("a set of places", () => {
  it.each([
    [[], ""],
    [[3], "3"],
    [[2, 1, 0], "0-2"],
    [[0, 2, 1, 9, 9], "0-2.9"],
    [Array.from({ length: 100 }, (_, at) => at * 2), "~VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVQ"],
  ])("of %j is %s", (places, text) => expect(setOf(places).text).toBe(text));

  it("holds what was added, in whatever order, and so does what is read from its text", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 300 }), (places) => {
        const set = setOf(places);
        const read = PlaceSet.parse(set.text, most);
        for (let place = 0; place <= 301; place++) {
          expect(set.has(place)).toBe(places.includes(place));
          expect(read?.has(place)).toBe(places.includes(place));
        }
        expect(read?.text).toBe(set.text);
      }),
    );
  });

  it("of many thousand places needs a few hundred characters while it is almost full, and never more than a bit each", () => {
    const almost = Array.from({ length: most }, (_, at) => at).filter((place) => place % 200 !== 7);
    expect(setOf(almost).text.length).toBeLessThan(600);
    const even = Array.from({ length: most / 2 }, (_, at) => at * 2);
    expect(setOf(even).text.length).toBeLessThanOrEqual(1 + most / 6 + 1);
  });

  it.each(["x", "1-", "2-1", "1..2", "10000", "5-10000", "~!", "~AAAAA", "0-99999999"])(
    "is not read from %s",
    (text) => expect(PlaceSet.parse(text, most)).toBeUndefined(),
  );
});
