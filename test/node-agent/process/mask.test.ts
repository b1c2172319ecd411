import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { masked, maskOf } from "../../../node-agent/process/mask.ts";

const whole = { before: "more", after: "more" } as const;
const shown = (text: string | Buffer, ...values: string[]): string => {
  const mask = maskOf(values);
  const bytes = Buffer.from(text);
  return (mask ? masked(bytes, mask, whole).bytes : bytes).toString("latin1");
};

/** The rule in its plainest form: from every byte on, pattern by pattern, with single breaks left out. */
const byHand = (bytes: Buffer, patterns: readonly { bytes: Buffer }[]): string => {
  const isBreak = (at: number) => bytes[at] === 10 || bytes[at] === 13;
  const skipped = new Set<number>();
  bytes.forEach((byte, at) => {
    if (byte !== 10) return;
    const begins = bytes[at - 1] === 13 ? at - 1 : at;
    if (isBreak(begins - 1) || isBreak(at + 1)) return;
    for (let i = begins; i <= at; i++) skipped.add(i);
  });
  const kept = [...bytes.keys()].filter((at) => !skipped.has(at));
  const hidden = new Set<number>();
  for (let from = 0; from < kept.length; from++)
    for (const { bytes: wanted } of patterns)
      if (wanted.every((byte, i) => bytes[kept[from + i] ?? -1] === byte))
        for (const at of kept.slice(from, from + wanted.length)) if (!isBreak(at)) hidden.add(at);
  return Buffer.from(bytes.map((byte, at) => (hidden.has(at) ? 42 : byte))).toString("latin1");
};

// Few letters, so that values overlap, repeat and begin within each other.
const letters = fc.constantFrom("a", "b", "ab", "aab", "\n", "\r\n", "é", " ");
const texts = (maxLength: number) => fc.array(letters, { maxLength }).map((parts) => parts.join(""));
const secrets = fc.array(
  texts(12).filter((text) => text.replace(/[\r\n]/g, "").length > 0),
  { minLength: 1, maxLength: 3 },
);

describe("the mask", () => {
  it("puts as many stars as a value has bytes", () => {
    expect(shown("a hunter22-é b", "hunter22-é")).toBe("a *********** b");
    expect(shown("hunter22hunter22", "hunter22")).toBe("*".repeat(16));
  });

  it("hides exactly what belongs to an occurrence, overlapping ones too", () => {
    fc.assert(
      fc.property(secrets, texts(40), (values, text) => {
        const patterns = maskOf(values)?.patterns ?? [];
        expect(shown(text, ...values)).toBe(byHand(Buffer.from(text), patterns));
      }),
      { numRuns: 2000 },
    );
  });

  it("leaves line breaks and the length as they are, whatever a value holds", () => {
    fc.assert(
      fc.property(secrets, texts(60), (values, text) => {
        const bytes = Buffer.from(text);
        const result = Buffer.from(shown(text, ...values), "latin1");
        expect(result.length).toBe(bytes.length);
        bytes.forEach((byte, at) => byte === 10 && expect(result[at]).toBe(10));
      }),
    );
  });

  it("hides a value of several lines as a terminal shows it, and in lines of another length", () => {
    const key = "-----BEGIN KEY-----\nMIIB12345\nabcdefgh\n-----END KEY-----\n";
    expect(shown(`x ${key.replaceAll("\n", "\r\n")}y`, key)).not.toMatch(/BEGIN|MIIB|abc|END/);
    expect(shown(key.replaceAll("\n", ""), key)).toBe("*".repeat(key.length - 4));
  });

  it("hides a value in base64, wherever it stands in what was encoded and however it is broken into lines", () => {
    fc.assert(
      fc.property(
        fc
          .string({ minLength: 8, maxLength: 120, unit: "grapheme" })
          .filter((text) => Buffer.from(text.replace(/[\r\n]/g, "")).length >= 8),
        fc.tuple(fc.string({ maxLength: 7 }), fc.string({ maxLength: 7 })),
        fc.constantFrom("base64", "base64url") as fc.Arbitrary<"base64" | "base64url">,
        (value, [before, after], form) => {
          const text = Buffer.from(`${before}${value}${after}`).toString(form);
          const from = Buffer.byteLength(before);
          const first = Math.ceil((from * 8) / 6);
          const last = Math.floor(((from + Buffer.byteLength(value)) * 8) / 6);
          const lines = text.replace(/(.{76})/g, "$1\n");
          const result = shown(lines, value).replaceAll("\n", "");
          expect(result.slice(first, last)).toBe("*".repeat(last - first));
        },
      ),
    );
  });

  it("hides the rest and the beginning of a value at the borders of a gap", () => {
    const mask = maskOf(["hunter22-and-more"]);
    if (!mask) throw new Error("no mask");
    const at = (text: string, around: Parameters<typeof masked>[2]) =>
      masked(Buffer.from(text), mask, around).bytes.toString();
    expect(at("and-more x", { before: "gap", after: "more" })).toBe("******** x");
    expect(at("x hunt", { before: "more", after: "gap" })).toBe("x ****");
    expect(at("r22-a", { before: "gap", after: "nothing-yet" })).toBe("*****");
  });

  it("hides a beginning at the end of what is written, and says how much of it may go on", () => {
    const mask = maskOf(["hunter22-and-more"]);
    if (!mask) throw new Error("no mask");
    const end = (text: string) => masked(Buffer.from(text), mask, { before: "more", after: "nothing-yet" });
    expect(end("pass: hunt")).toMatchObject({ bytes: Buffer.from("pass: ****"), open: 4 });
    expect(end("pass: hu")).toMatchObject({ bytes: Buffer.from("pass: hu"), open: 2 });
    expect(end("hunter\n")).toMatchObject({ bytes: Buffer.from("hunter\n"), open: 0 });
    expect(end("nothing")).toMatchObject({ open: 0 });
  });

  it("needs no time for a text that repeats itself", () => {
    const text = Buffer.alloc(4 * 1024 * 1024, "a");
    expect(shown(text, "a".repeat(40_000))).toBe("*".repeat(text.length));
  });
});
