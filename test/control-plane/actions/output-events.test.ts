import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parsePosition,
  positionText,
  startPosition,
  type Stage,
} from "../../../control-plane/actions/follow-position.ts";
import { OutputText } from "../../../control-plane/actions/output-events.ts";
import { processStatuses } from "#shared/process-state.ts";

const slices = (bytes: Uint8Array, cuts: number[]): { from: number; to: number; bytes: Uint8Array }[] => {
  const at = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].toSorted(
    (a, b) => a - b,
  );
  return at
    .slice(0, -1)
    .map((from, index) => ({ from, to: at[index + 1] ?? from, bytes: bytes.subarray(from, at[index + 1]) }));
};

describe("output as events", () => {
  it("is whole and in order however it was cut, and its position never lies inside a code point", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.array(fc.nat(200)), (text, cuts) => {
        const bytes = new TextEncoder().encode(text);
        const position = startPosition();
        const output = new OutputText(position);
        let seen = "";
        for (const chunk of slices(bytes, cuts)) {
          for (const event of output.take({ ...chunk, stream: "merged" })) {
            if (event.event === "output")
              seen +=
                "text" in event
                  ? event.text
                  : new TextDecoder().decode(Uint8Array.from(atob(event.b64), (char) => char.charCodeAt(0)));
            expect(
              new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
                bytes.subarray(0, position.offsets.merged),
              ),
            ).toBe(seen);
          }
        }
        expect([...output.flush()]).toEqual([]);
        expect(seen).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
      }),
    );
  });

  it("keeps any bytes as they are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(fc.nat(200)), (bytes, cuts) => {
        const output = new OutputText(startPosition());
        const events = [
          ...slices(bytes, cuts).flatMap((chunk) => [...output.take({ ...chunk, stream: "stdout" })]),
          ...output.flush(),
        ];
        const back = events.flatMap((event) =>
          event.event !== "output"
            ? []
            : "text" in event
              ? [...Buffer.from(event.text)]
              : [...Buffer.from(event.b64, "base64")],
        );
        expect(back).toEqual([...bytes]);
      }),
    );
  });

  it("comes in events of at most 64 KiB", () => {
    const events = [
      ...new OutputText(startPosition()).take({
        stream: "merged",
        from: 0,
        to: 200_001,
        bytes: new TextEncoder().encode("é".repeat(100_000) + "x"),
      }),
    ];
    expect(events.map(({ event }) => event)).toEqual(["output", "output", "output", "output"]);
  });
});

describe("an event's id", () => {
  it("reads back as the position it was made of, and is never a bare number", () => {
    const offset = fc.nat(Number.MAX_SAFE_INTEGER).filter((value) => value < 1e15);
    fc.assert(
      fc.property(
        fc.constantFrom(0, 1, 2, 3),
        fc.constantFrom("none" as const, ...processStatuses),
        fc.tuple(offset, offset, offset),
        (stage, status, [merged, stdout, stderr]) => {
          const position = { stage: stage as Stage, status, offsets: { merged, stdout, stderr } };
          expect(parsePosition(positionText(position))).toEqual(position);
          expect(positionText(position)).not.toMatch(/^\d+$/);
        },
      ),
    );
  });

  it("that is malformed is none", () => {
    for (const text of [
      "",
      "e1",
      "e4-running-0-0-0",
      "e1-sleeping-0-0-0",
      "e1-running-0-0",
      "-1",
      "1.5",
      "1e3",
      "9".repeat(16),
      " 1",
    ])
      expect(parsePosition(text)).toBeUndefined();
  });
});
