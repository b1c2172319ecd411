// The view of a long output: its first and last bytes. Every byte is either shown or counted as
// omitted, so originalBytes = retainedBytes + omittedBytes; the text holds no marker where it is cut,
// `parts` says where. A code point that a cut goes through is left out and counted as omitted.
import { completeUtf8Length, decodeText, startOfUtf8 } from "./utf8.ts";

/** A stretch of the stream by byte offsets, `to` exclusive. */
export type ByteRange = { from: number; to: number };
/** A stretch of the stream as text. */
export type TextPart = ByteRange & { text: string };
/** How much of the stream a view leaves out; all sizes in bytes. */
export type Truncated = {
  originalBytes: number;
  retainedBytes: number;
  omittedBytes: number;
  cutLines: 0;
  strategy: "head_tail";
};
export type HeadTailView = { text: string; parts: TextPart[]; truncated: Truncated | null };

/** What is at hand: the first bytes of a stream, its last bytes, its length, and the stretches in between that are no longer kept. */
export type HeadTailInput = {
  totalBytes: number;
  head: Uint8Array;
  tail: Uint8Array;
  headBytes: number;
  tailBytes: number;
  gaps?: readonly ByteRange[];
};

type Piece = { from: number; bytes: Uint8Array };

/** The first `headBytes` and last `tailBytes` of a stream, or all of it where these touch or overlap. */
export function headTailView(input: HeadTailInput): HeadTailView {
  const pieces = joinTouching(withoutGaps(wantedPieces(input), input.gaps ?? []));
  const parts = pieces.map((piece) => partOf(piece, input.totalBytes)).filter((part) => part.to > part.from);
  const retainedBytes = parts.reduce((sum, part) => sum + part.to - part.from, 0);
  return {
    text: parts.map((part) => part.text).join(""),
    parts,
    truncated: truncation(input.totalBytes, retainedBytes),
  };
}

const truncation = (originalBytes: number, retainedBytes: number): Truncated | null =>
  retainedBytes >= originalBytes
    ? null
    : {
        originalBytes,
        retainedBytes,
        omittedBytes: originalBytes - retainedBytes,
        cutLines: 0,
        strategy: "head_tail",
      };

function wantedPieces({ totalBytes, head, tail, headBytes, tailBytes }: HeadTailInput): Piece[] {
  const headLength = Math.min(head.length, headBytes, totalBytes);
  const tailLength = Math.min(tail.length, tailBytes, totalBytes);
  return [
    { from: 0, bytes: head.subarray(0, headLength) },
    { from: totalBytes - tailLength, bytes: tail.subarray(tail.length - tailLength) },
  ];
}

function withoutGaps(pieces: readonly Piece[], gaps: readonly ByteRange[]): Piece[] {
  return gaps
    .reduce<readonly Piece[]>((left, gap) => left.flatMap((piece) => around(piece, gap)), pieces)
    .filter(({ bytes }) => bytes.length > 0);
}

function around(piece: Piece, gap: ByteRange): Piece[] {
  const end = piece.from + piece.bytes.length;
  if (gap.to <= piece.from || gap.from >= end) return [piece];
  const before = { from: piece.from, bytes: piece.bytes.subarray(0, Math.max(0, gap.from - piece.from)) };
  const after = {
    from: Math.min(gap.to, end),
    bytes: piece.bytes.subarray(Math.min(gap.to, end) - piece.from),
  };
  return [before, after];
}

// Pieces come in order of their start. One that begins within or right after the last adds only what is new in it.
function joinTouching(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (!last || piece.from > last.from + last.bytes.length) joined.push({ ...piece });
    else last.bytes = concat(last.bytes, piece.bytes.subarray(last.from + last.bytes.length - piece.from));
  }
  return joined;
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

// The ends of the stream itself are no cuts: what is broken there was written so, and shows as U+FFFD.
function partOf({ from, bytes }: Piece, totalBytes: number): TextPart {
  const start = from === 0 ? 0 : startOfUtf8(bytes);
  const end = from + bytes.length === totalBytes ? bytes.length : completeUtf8Length(bytes);
  return {
    from: from + start,
    to: from + Math.max(start, end),
    text: decodeText(bytes.subarray(start, Math.max(start, end))),
  };
}
