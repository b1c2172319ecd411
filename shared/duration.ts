/** A duration in whole ms, or why the text is none. */
export type ParsedDuration = { ok: true; ms: number } | { ok: false; error: string };

// Largest first: each part of a text must be of a smaller unit than the one before it.
const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;

const whole = /^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/;
const piece = /(\d+(?:\.\d+)?)(ms|[dhms])/g;
const maxTextLength = 64;

const bad = (text: string, why: string): ParsedDuration => ({
  ok: false,
  error: `"${text.slice(0, maxTextLength)}" ${why}`,
});

/** Reads `250ms`, `30s`, `5m`, `1h30m`, `1.5h`, `2d`; a bare number other than 0 has no unit and is an error. */
export function parseDuration(text: string): ParsedDuration {
  const trimmed = text.trim();
  if (trimmed === "0") return { ok: true, ms: 0 };
  if (trimmed.length > maxTextLength || !whole.test(trimmed))
    return bad(trimmed, "is not a duration such as 30s, 5m, 1h30m, 250ms or 2d");
  let ms = 0;
  let lastRank = -1;
  for (const [, amount, name] of trimmed.matchAll(piece)) {
    const rank = units.findIndex(([unit]) => unit === name);
    if (rank <= lastRank) return bad(trimmed, "must name each unit once, the larger before the smaller");
    lastRank = rank;
    ms += Number(amount) * (units[rank]?.[1] ?? 0);
  }
  const rounded = Math.round(ms);
  return Number.isSafeInteger(rounded) ? { ok: true, ms: rounded } : bad(trimmed, "is too long a duration");
}

/** A short text for whole ms that parses back to the same: `1h30m`, `2d`, `1s250ms`, `0s`. */
export function formatDuration(ms: number): string {
  let left = Math.max(0, Math.round(ms));
  if (left === 0) return "0s";
  let text = "";
  for (const [unit, size] of units) {
    const count = Math.floor(left / size);
    if (count > 0) text += `${count}${unit}`;
    left -= count * size;
  }
  return text;
}
