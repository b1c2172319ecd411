import { completeUtf8Length, decodeText, startOfUtf8 } from "#shared/output/utf8.ts";
import type { Piece } from "./stored-output.ts";

export type TextPart = { from: number; to: number; text: string };
export type Truncated = {
  originalBytes: number;
  retainedBytes: number;
  omittedBytes: number;
  cutLines: number;
  strategy: "head_tail";
};

/** The stretch of a stream that was asked for. `open`: more may be written behind its end. */
export type Stretch = { from: number; to: number; open: boolean };

/**
 * Pieces of a stretch as text, cut on code points: a code point that a cut goes through is left out. The ends of the
 * stretch are no cuts by themselves (what is broken there shows as U+FFFD), except an end behind which more may come.
 */
export const textParts = (pieces: Piece[], stretch: Stretch): TextPart[] =>
  pieces.map((piece) => textPart(piece, stretch)).filter((part) => part.to > part.from);

const textPart = (piece: Piece, stretch: Stretch): TextPart => {
  const start = piece.from === stretch.from ? 0 : startOfUtf8(piece.bytes);
  const atEnd = piece.to === stretch.to && !stretch.open;
  const end = Math.max(start, atEnd ? piece.bytes.length : completeUtf8Length(piece.bytes));
  return {
    from: piece.from + start,
    to: piece.from + end,
    text: decodeText(piece.bytes.subarray(start, end)),
  };
};

/** How much of [from, to) the parts leave out; null when nothing. */
export const truncation = (
  parts: { from: number; to: number }[],
  stretch: { from: number; to: number },
): Truncated | null => {
  const originalBytes = stretch.to - stretch.from;
  const retainedBytes = parts.reduce((sum, part) => sum + part.to - part.from, 0);
  if (retainedBytes >= originalBytes) return null;
  return {
    originalBytes,
    retainedBytes,
    omittedBytes: originalBytes - retainedBytes,
    cutLines: 0,
    strategy: "head_tail",
  };
};
