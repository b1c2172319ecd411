import { decodeText, isContinuation, startOfUtf8, takeCodePoints } from "./utf8.ts";

const defaultLines = 40;
const maxLines = 200;
const maxCodePoints = 8000;
const newline = 10;

/** Enough last bytes of a stream for tailLines: 8,000 code points of at most four bytes. */
export const tailLinesBytes = maxCodePoints * 4;

/** The line count a caller asked for: 40 for 0, negative, not whole or no number; at most 200. A text of digits counts as a number. */
export function linesWanted(raw: unknown): number {
  const wanted = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
  if (typeof wanted !== "number" || !Number.isInteger(wanted) || wanted <= 0) return defaultLines;
  return Math.min(wanted, maxLines);
}

/**
 * The last lines of a stream as text of at most 8,000 code points, given its last bytes and the offset in the stream at
 * which these begin; `from` is the offset where the text begins. A final newline ends the last line and stays; it begins
 * no empty one. Where invalid bytes make the text too long, `from` may lie up to as many bytes early.
 */
export function tailLines(bytes: Uint8Array, lines: unknown, bytesFrom = 0): { from: number; text: string } {
  // Bytes that begin in the middle of the stream may begin in the middle of a code point.
  const first = bytesFrom === 0 ? 0 : startOfUtf8(bytes);
  const from = Math.max(first, startOfLastLines(bytes, linesWanted(lines)), startOfLastCodePoints(bytes));
  return {
    from: bytesFrom + from,
    text: takeCodePoints(decodeText(bytes.subarray(from)), maxCodePoints, "end"),
  };
}

function startOfLastLines(bytes: Uint8Array, wanted: number): number {
  let found = 0;
  for (let at = bytes.length - 2; at >= 0; at--) {
    if (bytes[at] === newline && ++found === wanted) return at + 1;
  }
  return 0;
}

function startOfLastCodePoints(bytes: Uint8Array): number {
  let found = 0;
  const earliest = Math.max(0, bytes.length - tailLinesBytes);
  for (let at = bytes.length - 1; at >= earliest; at--) {
    if (!isContinuation(bytes[at] ?? 0) && ++found === maxCodePoints) return at;
  }
  return earliest;
}
