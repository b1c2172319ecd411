import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "#shared/duration.ts";

test.each([
  ["30s", 30_000],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  ["250ms", 250],
  ["2d", 172_800_000],
  ["1.5h", 5_400_000],
  ["1s250ms", 1250],
  [" 0 ", 0],
  ["0s", 0],
])("%j is %i ms", (text, ms) => {
  expect(parseDuration(text)).toEqual({ ok: true, ms });
});

test.each([
  "",
  "5",
  "s",
  "-5s",
  "5 s",
  "5x",
  "1e3s",
  "Infinity",
  "30m1h",
  "1s1s",
  "99999999999999d",
  "1".repeat(99),
])("%j is an error that shows it", (text) => {
  const parsed = parseDuration(text);
  expect(parsed.ok ? "" : parsed.error).toContain(`"${text.slice(0, 64)}"`);
});

test("a formatted duration reads back as the same", () => {
  expect(formatDuration(5_400_000)).toBe("1h30m");
  expect(formatDuration(-1)).toBe("0s");
  fc.assert(
    fc.property(fc.nat(), (ms) => {
      expect(parseDuration(formatDuration(ms))).toEqual({ ok: true, ms });
    }),
  );
});
