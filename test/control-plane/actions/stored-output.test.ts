import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProcessRow } from "../../../control-plane/store/store.ts";
import { holdsAll, readStored, storedOf, type Ask } from "../../../control-plane/actions/stored-output.ts";

const stored = (text: Uint8Array, head: number, tail: number) => ({
  stream: "merged" as const,
  head: text.subarray(0, head),
  tail: text.subarray(text.length - Math.min(tail, text.length)),
  totalBytes: text.length,
});

describe("a stored output", () => {
  it("gives exactly the bytes that were asked for and are there, in order and once", () => {
    const ask = fc.record({
      head: fc.option(fc.nat(60), { nil: undefined }),
      tail: fc.option(fc.nat(60), { nil: undefined }),
      from: fc.option(fc.nat(60), { nil: undefined }),
      to: fc.option(fc.nat(60), { nil: undefined }),
    });
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 50 }),
        fc.nat(50),
        fc.nat(50),
        ask,
        (bytes, head, tail, asked) => {
          const defined = Object.fromEntries(
            Object.entries(asked).filter(([, value]) => value !== undefined),
          ) as Ask;
          const { pieces, totalBytes } = readStored(
            stored(bytes, Math.min(head, bytes.length), tail),
            defined,
          );
          const got = pieces.flatMap((piece) => [...piece.bytes].map((byte, at) => [piece.from + at, byte]));
          const isAsked = (at: number): boolean =>
            at < (asked.head ?? 0) ||
            at >= bytes.length - (asked.tail ?? 0) ||
            (asked.from !== undefined && at >= asked.from && at < (asked.to ?? bytes.length));
          const isThere = (at: number): boolean => at < head || at >= bytes.length - tail;
          expect(totalBytes).toBe(bytes.length);
          expect(got).toEqual(
            [...bytes].map((byte, at) => [at, byte]).filter(([at]) => isAsked(at ?? 0) && isThere(at ?? 0)),
          );
        },
      ),
    );
  });

  it("holds everything when head and tail touch or overlap", () => {
    const bytes = new Uint8Array(10);
    expect([
      holdsAll(stored(bytes, 5, 5)),
      holdsAll(stored(bytes, 8, 8)),
      holdsAll(stored(bytes, 4, 5)),
    ]).toEqual([true, true, false]);
  });

  it("that is older than the last report holds its head only, and is not all", () => {
    const row = { totalBytes: 9, launch: { output: "merged" } } as ProcessRow;
    const found = storedOf(row, [stored(new Uint8Array(5), 5, 5)], "merged");
    expect(found).toMatchObject({ totalBytes: 9, head: new Uint8Array(5), tail: new Uint8Array(0) });
    expect(holdsAll(found)).toBe(false);
  });
});
