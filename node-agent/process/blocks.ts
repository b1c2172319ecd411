import type { StreamName } from "#shared/streams.ts";
import type { ProcessFolder } from "./folder.ts";
import { type Range, readGap, readRange } from "./output.ts";

/**
 * A stream cut into blocks of whole lines, so that no line is cut by a border of reading. Two exceptions: before a gap and at
 * the end of the range a block may end without a newline, and a line over 1 MiB comes in pieces that overlap, so that a
 * match of up to 64 KiB lies whole in one of them. `next` is where the following block begins.
 */
export type Block = {
  from: number;
  bytes: Buffer;
  next: number;
  /** It begins inside the line that the block before it ended in. */ goesOn: boolean;
};
export type Stream = { folder: ProcessFolder; stream: StreamName };

const readBytes = 256 * 1024;
const maxLineBytes = 1024 * 1024;
const overlapBytes = 64 * 1024;

export const blocksOf = async function* ({ folder, stream }: Stream, range: Range): AsyncGenerator<Block> {
  let held = nothingFrom(range.from);
  let at = range.from;
  while (at < range.to) {
    const gap = readGap(folder, stream);
    if (at >= gap.from && at < gap.to) at = Math.min(gap.to, range.to);
    const to = Math.min(at + readBytes, range.to);
    for (const piece of await readRange(folder, stream, { from: at, to })) {
      const touches = piece.from === held.from + held.bytes.length;
      // What follows a gap does not go on with the line before it.
      if (!touches && held.bytes.length > 0) yield asBlock(held, held.bytes.length);
      held = touches
        ? { ...held, bytes: Buffer.concat([held.bytes, piece.bytes]) }
        : { ...nothingFrom(piece.from), bytes: Buffer.from(piece.bytes) };
      const block = blockIn(held);
      if (!block) continue;
      yield block;
      held = {
        from: block.next,
        bytes: held.bytes.subarray(block.next - held.from),
        goesOn: block.bytes.at(-1) !== 10,
      };
    }
    at = to;
  }
  if (held.bytes.length > 0) yield asBlock(held, held.bytes.length);
};

type Held = Omit<Block, "next">;

const nothingFrom = (from: number): Held => ({ from, bytes: Buffer.alloc(0), goesOn: false });

/** What can be searched of the bytes at hand: their whole lines, else a piece of a line that is too long, else nothing yet. */
const blockIn = (held: Held): Block | null => {
  const wholeLines = held.bytes.lastIndexOf(10) + 1;
  if (wholeLines > 0) return asBlock(held, wholeLines);
  if (held.bytes.length < maxLineBytes) return null;
  return { ...held, next: held.from + held.bytes.length - overlapBytes };
};

const asBlock = ({ from, bytes, goesOn }: Held, length: number): Block => ({
  from,
  bytes: bytes.subarray(0, length),
  next: from + length,
  goesOn,
});
