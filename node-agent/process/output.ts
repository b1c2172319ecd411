import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { StreamName } from "#shared/streams.ts";
import { snapshotBytes } from "#shared/link/limits.ts";
import { gapPath, type ProcessFolder, streamPath } from "./folder.ts";
import { type Look, lookAt, readMask, shownOf } from "./masking.ts";

/**
 * The recorded bytes of one stream. Offsets are absolute: byte n is the nth byte the command wrote, whatever is still kept.
 * A bounded log has one gap [from, to): those bytes are gone. With a punching fallocate the file keeps its length and
 * `shift` is 0; without, the tail was moved forward over the gap and lies `shift` bytes before its offset.
 * A gap is overwritten in place, in one short write, so a reader sees the old gap or the new one.
 */
export type Gap = { from: number; to: number; shift: number };
export const noGap: Gap = { from: 0, to: 0, shift: 0 };

export const readGap = (folder: ProcessFolder, stream: StreamName): Gap => {
  const path = gapPath(folder, stream);
  // Looked for first: there is rarely one, and a failed read costs a stack trace.
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Gap) : noGap;
};

/** How many bytes were written to the stream so far. */
export const streamSize = (
  folder: ProcessFolder,
  stream: StreamName,
  gap = readGap(folder, stream),
): number => (statSync(streamPath(folder, stream), { throwIfNoEntry: false })?.size ?? 0) + gap.shift;

/** `open`: so many of the last bytes may be the beginning of a value that is to be hidden, of which more may come. */
export type Piece = { from: number; to: number; bytes: Uint8Array; open: number };
export type Range = { from: number; to: number };

/** The kept parts of a range, in order; what lies in the gap is left out. */
export const keptRanges = (range: Range, gap: Gap): Range[] => {
  if (gap.from === gap.to) return range.from < range.to ? [range] : [];
  const before = { from: range.from, to: Math.min(range.to, gap.from) };
  const after = { from: Math.max(range.from, gap.to), to: range.to };
  return [before, after].filter((part) => part.from < part.to);
};

const position = (offset: number, gap: Gap): number => (offset >= gap.to ? offset - gap.shift : offset);

/** The bounds of what is kept on the side of the gap where an offset lies. */
const keptAround = (offset: number, gap: Gap): Range =>
  offset < gap.from ? { from: 0, to: gap.from } : { from: gap.to, to: Infinity };

/** Reads the kept bytes of [from, to), at most what is written, as they may be shown; the caller bounds the size. */
export const readRange = async (
  folder: ProcessFolder,
  stream: StreamName,
  range: Range,
): Promise<Piece[]> => {
  const mask = readMask(folder);
  const file = await open(streamPath(folder, stream), "r");
  try {
    for (;;) {
      const gap = readGap(folder, stream);
      const pieces: Piece[] = [];
      for (const part of keptRanges(range, gap))
        pieces.push(...(await readPiece(file, lookAt(part, keptAround(part.from, gap), mask), gap)));
      // The log was shortened between the look at the gap and the read: what was read may lie elsewhere now.
      if (isSameGap(readGap(folder, stream), gap, mask !== undefined)) return pieces;
    }
  } finally {
    await file.close();
  }
};

// What a gap has taken is read as zeros, which a mask cannot judge.
const isSameGap = (now: Gap, then: Gap, isMasked: boolean): boolean =>
  now.shift === then.shift && (!isMasked || (now.from === then.from && now.to === then.to));

const readPiece = async (file: FileHandle, look: Look, gap: Gap): Promise<Piece[]> => {
  const length = look.to - look.from;
  const { bytesRead, buffer } = await file.read(
    Buffer.allocUnsafe(length),
    0,
    length,
    position(look.from, gap),
  );
  const { bytes, open: notYet } = shownOf(look, buffer.subarray(0, bytesRead));
  const { from } = look.shown;
  return bytes.length === 0 ? [] : [{ from, to: from + bytes.length, bytes, open: notYet }];
};

export type HeadTail = { head: Uint8Array; tail: Uint8Array; totalBytes: number; lines: number | null };

/** Above this size lines are not counted. */
const countLinesBelow = 1024 * 1024;

/** First and last bytes of a stream as kept in the database, with its size; small streams are read whole and their lines counted. */
export const headTail = (folder: ProcessFolder, stream: StreamName, maxBytes = snapshotBytes): HeadTail => {
  const gap = readGap(folder, stream);
  const totalBytes = streamSize(folder, stream, gap);
  if (totalBytes === 0) return { head: empty, tail: empty, totalBytes, lines: 0 };
  const fd = openSync(streamPath(folder, stream), "r");
  try {
    const mask = readMask(folder);
    const read = (from: number, to: number) => {
      const look = lookAt({ from, to }, keptAround(from, gap), mask);
      return shownOf(look, readAt(fd, position(look.from, gap), look.to - look.from)).bytes;
    };
    const head = read(0, Math.min(maxBytes, totalBytes));
    const tail = read(Math.max(head.length, totalBytes - maxBytes), totalBytes);
    const lines =
      totalBytes <= countLinesBelow
        ? linesOf(totalBytes <= 2 * maxBytes ? [head, tail] : [read(0, totalBytes)])
        : null;
    return { head, tail, totalBytes, lines };
  } finally {
    closeSync(fd);
  }
};

const empty = Buffer.alloc(0);

const readAt = (fd: number, at: number, length: number): Buffer => {
  if (length <= 0) return empty;
  const buffer = Buffer.allocUnsafe(length);
  return buffer.subarray(0, readSync(fd, buffer, 0, length, at));
};

/** Lines as an editor counts them: a last line without a newline is one too. */
const linesOf = (parts: Uint8Array[]): number => {
  let lines = 0;
  let last = 10;
  for (const part of parts) {
    for (let i = part.indexOf(10); i >= 0; i = part.indexOf(10, i + 1)) lines++;
    last = part.at(-1) ?? last;
  }
  return last === 10 ? lines : lines + 1;
};
