import type { StreamName } from "#shared/streams.ts";
import type { ReadReply } from "#shared/link/frames.ts";
import { readBytes } from "#shared/link/limits.ts";
import type { EngineAnswer, EngineRequest } from "../engine.ts";
import { type ProcessFolder } from "./folder.ts";
import { type Range, readGap, readRange, streamSize } from "./output.ts";

/** Answers a `read`: the first `head`, the last `tail` bytes and/or [from, to), at most `readBytes` each, merged where they touch. */
export const answerRead = async (
  folder: ProcessFolder,
  request: EngineRequest<"read">,
): Promise<EngineAnswer> => {
  const totalBytes = streamSize(folder, request.stream);
  const gap = readGap(folder, request.stream);
  const parts: ReadReply["parts"] = [];
  for (const range of wantedRanges(request, totalBytes))
    parts.push(...(await partsOf(folder, request.stream, range)));
  return {
    value: {
      totalBytes,
      parts,
      gaps: gap.to > gap.from ? [{ from: gap.from, to: gap.to }] : [],
    } satisfies ReadReply,
  };
};

const partsOf = async (
  folder: ProcessFolder,
  stream: StreamName,
  range: Range,
): Promise<ReadReply["parts"]> =>
  (await readRange(folder, stream, range)).map(({ from, to, bytes }) => ({
    from,
    to,
    b64: Buffer.from(bytes).toString("base64"),
  }));

/** Pure: the ranges in order, without overlap. */
export const wantedRanges = (
  request: {
    head?: number | undefined;
    tail?: number | undefined;
    from?: number | undefined;
    to?: number | undefined;
  },
  totalBytes: number,
): Range[] => {
  const cap = (bytes: number) => Math.min(bytes, readBytes);
  const ranges = [
    { from: 0, to: cap(request.head ?? 0) },
    { from: Math.max(0, totalBytes - cap(request.tail ?? 0)), to: request.tail ? totalBytes : 0 },
    {
      from: request.from ?? 0,
      to: request.from === undefined ? 0 : Math.min(request.to ?? totalBytes, request.from + readBytes),
    },
  ]
    .map((range) => ({ from: range.from, to: Math.min(range.to, totalBytes) }))
    .filter((range) => range.from < range.to);
  return ranges.sort((a, b) => a.from - b.from).reduce<Range[]>(joined, []);
};

const joined = (done: Range[], range: Range): Range[] => {
  const last = done.at(-1);
  if (!last || range.from > last.to) return [...done, { ...range }];
  last.to = Math.max(last.to, range.to);
  return done;
};
