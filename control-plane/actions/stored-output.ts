import type { StreamName } from "#shared/streams.ts";
import type { ProcessRow, StoredOutput } from "../store/store.ts";

/** Bytes [from, to) of a stream. */
export type Piece = { from: number; to: number; bytes: Uint8Array };
/** What is asked of a stream: its first `head` bytes, its last `tail` bytes, or [from, to). */
export type Ask = { head?: number; tail?: number; from?: number; to?: number };
/** What is there of what was asked, in order and without overlap; what lies between the pieces is missing. */
export type Reading = { totalBytes: number; pieces: Piece[] };

type Span = { from: number; to: number };
const nothing = new Uint8Array(0);

/** The streams of a process. */
export const streamsOf = (row: ProcessRow): StreamName[] =>
  row.launch.output === "split" ? ["stdout", "stderr"] : ["merged"];

/**
 * Head and tail of a stream as stored; a stream that never was reported has the bytes that the others lack. A report may
 * count more bytes than the head and tail that came last: then only the head still stands where it stood.
 */
export const storedOf = (row: ProcessRow, outputs: StoredOutput[], stream: StreamName): StoredOutput => {
  const found = outputs.find((output) => output.stream === stream);
  if (found !== undefined && stream === "merged" && found.totalBytes < row.totalBytes)
    return { ...found, tail: nothing, totalBytes: row.totalBytes };
  if (found !== undefined) return found;
  const elsewhere = outputs.reduce((sum, output) => sum + output.totalBytes, 0);
  return { stream, head: nothing, tail: nothing, totalBytes: Math.max(0, row.totalBytes - elsewhere) };
};

/** Whether head and tail together are everything that was written. */
export const holdsAll = (stored: StoredOutput): boolean =>
  stored.head.length + stored.tail.length >= stored.totalBytes;

/** Answers from head and tail alone. */
export const readStored = (stored: StoredOutput, ask: Ask): Reading => {
  const { totalBytes } = stored;
  const spans = joined(spansOf(ask, totalBytes));
  const pieces = spans.flatMap((span) => storedPieces(stored).flatMap((piece) => cut(piece, span)));
  return { totalBytes, pieces };
};

const storedPieces = ({ head, tail, totalBytes }: StoredOutput): Piece[] => {
  const tailFrom = totalBytes - tail.length;
  // A tail may begin inside the head: those bytes are there once.
  const from = Math.max(tailFrom, head.length);
  return [
    { from: 0, to: head.length, bytes: head },
    { from, to: Math.max(from, totalBytes), bytes: tail.subarray(Math.min(from - tailFrom, tail.length)) },
  ].filter((piece) => piece.to > piece.from);
};

const spansOf = (ask: Ask, totalBytes: number): Span[] => {
  const spans: Span[] = [];
  if (ask.head !== undefined) spans.push({ from: 0, to: Math.min(ask.head, totalBytes) });
  if (ask.from !== undefined) spans.push({ from: ask.from, to: Math.min(ask.to ?? totalBytes, totalBytes) });
  if (ask.tail !== undefined) spans.push({ from: Math.max(0, totalBytes - ask.tail), to: totalBytes });
  return spans.filter((span) => span.to > span.from).toSorted((one, other) => one.from - other.from);
};

const joined = (spans: Span[]): Span[] =>
  spans.reduce<Span[]>((so, span) => {
    const last = so.at(-1);
    if (last === undefined || span.from > last.to) return [...so, span];
    return [...so.slice(0, -1), { from: last.from, to: Math.max(last.to, span.to) }];
  }, []);

const cut = (piece: Piece, span: Span): Piece[] => {
  const from = Math.max(piece.from, span.from);
  const to = Math.min(piece.to, span.to);
  return to > from ? [{ from, to, bytes: piece.bytes.subarray(from - piece.from, to - piece.from) }] : [];
};

/** Pieces that touch become one. */
export const joinPieces = (pieces: Piece[]): Piece[] =>
  pieces.reduce<Piece[]>((so, piece) => {
    const last = so.at(-1);
    if (last === undefined || last.to !== piece.from) return [...so, piece];
    return [...so.slice(0, -1), { from: last.from, to: piece.to, bytes: both(last.bytes, piece.bytes) }];
  }, []);

const both = (one: Uint8Array, other: Uint8Array): Uint8Array => {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
};
