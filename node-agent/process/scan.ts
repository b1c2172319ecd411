import type { GrepReply } from "#shared/link/frames.ts";
import { decodeText } from "#shared/output/utf8.ts";
import { type Block, blocksOf, type Stream } from "./blocks.ts";
import { cutAround, linesAround, type Span } from "./line-text.ts";
import { endOfLine, type Hit, type Matcher, startOfLine } from "./matcher.ts";
import { streamSize } from "./output.ts";

/**
 * Searches a stream for lines that match, from an offset on, up to what is written at the moment of the call.
 *
 * A match is a line: [from, to) are its bytes without the newline. Of a line over 8 KiB it is the 8 KiB around the match,
 * and a line over 1 MiB is searched in overlapping pieces, in which `^` and `$` mean the ends of the piece. One line matches
 * once. Lines do not go on over a gap. A call ends early, with `next` before `totalBytes`, when it has `limit` matches, when
 * its answer is large enough, or when it has read or worked enough.
 */
export type ScanRequest = Stream & { context: number; from: number; limit: number };
export type ScanLimits = { maxBytes: number; softMs: number };
export type Found = GrepReply & {
  /** Where the last line begins if it may still grow, else `next`: a later search that begins here misses nothing. */
  resumeFrom: number;
};

type Match = GrepReply["matches"][number];
type Progress = {
  matches: Match[];
  answerBytes: number;
  /** Inside a line that has matched already. */ inMatched: boolean;
};

const maxAnswerBytes = 1024 * 1024;
const maxResumeBytes = 64 * 1024;

export const scan = async (request: ScanRequest, matcher: Matcher, limits: ScanLimits): Promise<Found> => {
  const totalBytes = streamSize(request.folder, request.stream);
  const began = performance.now();
  const progress: Progress = { matches: [], answerBytes: 0, inMatched: false };
  let scanned = 0;
  let lastLine = totalBytes;
  for await (const block of blocksOf(request, { from: request.from, to: totalBytes })) {
    const at = await scanBlock(request, { block, matcher, progress });
    // A full answer goes on behind the line that filled it, also where that line ends in a later block.
    if (isFull(progress, request) && !progress.inMatched) return ended(progress, { next: at, totalBytes });
    scanned += block.bytes.length;
    if (scanned >= limits.maxBytes || performance.now() - began >= limits.softMs)
      return ended(progress, { next: block.next, totalBytes });
    if (block.bytes.at(-1) !== newline)
      lastLine = Math.max(
        block.from + startOfLine(block.bytes, block.bytes.length),
        totalBytes - maxResumeBytes,
      );
    else lastLine = totalBytes;
  }
  return { ...ended(progress, { next: totalBytes, totalBytes }), resumeFrom: Math.min(lastLine, totalBytes) };
};

const newline = 10;

const isFull = (progress: Progress, { limit }: ScanRequest): boolean =>
  progress.matches.length >= limit || progress.answerBytes >= maxAnswerBytes;

const ended = ({ matches }: Progress, { next, totalBytes }: { next: number; totalBytes: number }): Found => ({
  matches,
  next,
  totalBytes,
  resumeFrom: next,
});

/** Adds the matches of a block; answers the offset behind the last line that was looked at. */
const scanBlock = async (
  request: ScanRequest,
  step: { block: Block; matcher: Matcher; progress: Progress },
): Promise<number> => {
  const { block, matcher, progress } = step;
  progress.inMatched &&= block.goesOn;
  let at = progress.inMatched ? behindLine(block, 0, progress) : 0;
  while (at < block.bytes.length && !isFull(progress, request)) {
    const hit = matcher(block.bytes, at);
    if (!hit) return block.next;
    const match = await matchAt(request, block, hit);
    progress.matches.push(match);
    progress.answerBytes += sizeOf(match);
    at = behindLine(block, hit.to, progress);
  }
  return block.from + at;
};

/** The index behind the line around `at`; notes when that line goes on in the next block. */
const behindLine = (block: Block, at: number, progress: Progress): number => {
  const end = endOfLine(block.bytes, at);
  progress.inMatched = end === block.bytes.length;
  return progress.inMatched ? end : end + 1;
};

const matchAt = async (request: ScanRequest, block: Block, hit: Hit): Promise<Match> => {
  const line: Span = { from: startOfLine(block.bytes, hit.from), to: endOfLine(block.bytes, hit.to) };
  const shown = cutAround(block.bytes, line, hit);
  const context = await linesAround(
    request,
    { from: block.from + line.from, to: block.from + line.to },
    request.context,
  );
  return {
    from: block.from + shown.from,
    to: block.from + shown.to,
    text: decodeText(block.bytes.subarray(shown.from, shown.to)),
    ...context,
  };
};

/** About what a match takes of a frame. */
const sizeOf = ({ text, before, after }: Match): number =>
  [text, ...before, ...after].reduce((sum, one) => sum + one.length + 8, 64);
