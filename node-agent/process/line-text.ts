import { completeUtf8Length, decodeText, startOfUtf8 } from "#shared/output/utf8.ts";
import type { Stream } from "./blocks.ts";
import { readRange } from "./output.ts";

/** A stretch of bytes, `to` exclusive. */
export type Span = { from: number; to: number };

const maxLineBytes = 8 * 1024;
const reachBytes = 32 * 1024;
const newline = 10;

/** The line, or the 8 KiB of it around the hit, cut on code points. */
export const cutAround = (bytes: Buffer, line: Span, hit: Span): Span => {
  if (line.to - line.from <= maxLineBytes) return line;
  const spare = Math.max(0, maxLineBytes - (hit.to - hit.from));
  const from = Math.min(Math.max(line.from, hit.from - Math.floor(spare / 2)), line.to - maxLineBytes);
  const to = from + maxLineBytes;
  const start = from === line.from ? from : from + startOfUtf8(bytes.subarray(from, to));
  return { from: start, to: to === line.to ? to : start + completeUtf8Length(bytes.subarray(start, to)) };
};

/** Up to `count` lines before and after a line, as far as they lie within 32 KiB of it and no gap is between. */
export const linesAround = async (
  { folder, stream }: Stream,
  line: Span,
  count: number,
): Promise<{ before: string[]; after: string[] }> => {
  if (count === 0) return { before: [], after: [] };
  const pieces = await readRange(folder, stream, {
    from: Math.max(0, line.from - reachBytes),
    to: line.to + reachBytes,
  });
  const around = pieces.find((piece) => piece.from <= line.from && line.to <= piece.to);
  if (!around) return { before: [], after: [] };
  return {
    before: linesBefore(around.bytes.subarray(0, line.from - around.from)).slice(-count),
    after: linesAfter(around.bytes.subarray(line.to - around.from)).slice(0, count),
  };
};

// What does not touch the line by a newline is the rest of the same line, of which only a piece was searched.
const linesBefore = (bytes: Uint8Array): string[] =>
  bytes.at(-1) === newline ? linesIn(bytes.subarray(0, -1)) : [];

const linesAfter = (bytes: Uint8Array): string[] => {
  if (bytes[0] !== newline || bytes.length === 1) return [];
  return linesIn(bytes.at(-1) === newline ? bytes.subarray(1, -1) : bytes.subarray(1));
};

const linesIn = (bytes: Uint8Array): string[] => decodeText(bytes).split("\n");
