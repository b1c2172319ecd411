import type { StreamName } from "#shared/streams.ts";
import { DroverError } from "#shared/errors.ts";
import { completeUtf8Length } from "#shared/output/utf8.ts";
import { tailLines, tailLinesBytes } from "#shared/output/tail-lines.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { nodeOffline } from "./ask-node.ts";
import { textParts, truncation, type TextPart, type Truncated } from "./output-text.ts";
import { maxReadBytes, readBytes, type Answered } from "./read-bytes.ts";
import { isGone } from "./stop-process.ts";
import type { Ask, Piece } from "./stored-output.ts";

/** Which part of a stream is wanted. */
export type View =
  | { view: "headtail"; headBytes: number; tailBytes: number }
  | { view: "head"; headBytes: number }
  | { view: "tail"; tailBytes: number }
  | { view: "lines"; lines: string | undefined }
  | { view: "range"; from: number; to: number | undefined };

export type OutputView = {
  text: string;
  from: number;
  to: number;
  next: number;
  totalBytes: number;
  truncated: Truncated | null;
  parts: TextPart[];
};

/** A view of a stream as text; the row must have been read before, so that a final status covers what is shown. */
export const readOutput = async (
  needs: Needs,
  of: { row: ProcessRow; stream: StreamName },
  view: View,
): Promise<OutputView> => {
  const answered = await readView(needs, of, view);
  const open = !isGone(of.row);
  return view.view === "lines" ? linesView(answered, view.lines, open) : partsView(answered, view, open);
};

/** The same part of a stream as bytes. */
export const readRaw = async (
  needs: Needs,
  of: { row: ProcessRow; stream: StreamName },
  view: View,
): Promise<Piece[]> => {
  const answered = await readView(needs, of, view);
  if (view.view !== "lines") return answered.pieces;
  const { from } = linesView(answered, view.lines, !isGone(of.row));
  return answered.pieces
    .filter((piece) => piece.to > from)
    .map((piece) =>
      piece.from >= from ? piece : { from, to: piece.to, bytes: piece.bytes.subarray(from - piece.from) },
    );
};

const readView = async (
  needs: Needs,
  { row, stream }: { row: ProcessRow; stream: StreamName },
  view: View,
): Promise<Answered> => {
  const answered = await readBytes(needs, row, stream, askOf(view));
  if (view.view === "range") requireRange(answered, view, !isGone(row));
  return answered;
};

const askOf = (view: View): Ask => {
  switch (view.view) {
    case "headtail":
      return { head: view.headBytes, tail: view.tailBytes };
    case "head":
      return { head: view.headBytes };
    case "tail":
      return { tail: view.tailBytes };
    case "lines":
      return { tail: tailLinesBytes };
    case "range":
      return { from: view.from, to: rangeEnd(view) };
  }
};

const rangeEnd = (view: { from: number; to: number | undefined }): number =>
  Math.min(view.to ?? Number.MAX_SAFE_INTEGER, view.from + maxReadBytes);

const requireRange = (answered: Answered, view: Extract<View, { view: "range" }>, open: boolean): void => {
  if (view.from > answered.totalBytes) {
    // A node that is away may have more than what it reported of a running process.
    if (answered.source === "away" && open) throw nodeOffline();
    throw new DroverError("range_not_satisfiable", `the output has ${answered.totalBytes} bytes so far`, {
      totalBytes: answered.totalBytes,
    });
  }
  const to = Math.min(rangeEnd(view), answered.totalBytes);
  if (answered.source === "away" && truncation(answered.pieces, { from: view.from, to }) !== null)
    throw nodeOffline();
};

const partsView = (answered: Answered, view: Exclude<View, { view: "lines" }>, open: boolean): OutputView => {
  const { totalBytes } = answered;
  const isRange = view.view === "range";
  const from = isRange ? view.from : 0;
  const to = isRange ? Math.min(rangeEnd(view), totalBytes) : totalBytes;
  // An end inside the stream is a cut like any other; only what the stream itself ends with is shown as it is.
  const cut = textParts(answered.pieces, { from, to: totalBytes, open });
  // A range shorter than its one code point is shown as the broken bytes it is, so that going on from `next` ends.
  const parts =
    cut.length > 0 || !isRange || to === totalBytes
      ? cut
      : textParts(answered.pieces, { from, to, open: false });
  const unfinished = unfinishedBytes(answered.pieces, parts, { to, whole: to === totalBytes && !open });
  return shown(parts, { from, to: to - unfinished, totalBytes });
};

// Bytes at the end that are not shown yet because their code point goes on behind it.
const unfinishedBytes = (pieces: Piece[], parts: TextPart[], end: { to: number; whole: boolean }): number => {
  const last = pieces.at(-1);
  if (end.whole || last === undefined || last.to !== end.to) return 0;
  const shownTo = Math.max(last.from, parts.at(-1)?.to ?? 0);
  return end.to - shownTo;
};

const shown = (parts: TextPart[], stretch: { from: number; to: number; totalBytes: number }): OutputView => {
  const first = parts[0]?.from ?? stretch.from;
  const last = parts.at(-1)?.to ?? stretch.to;
  return {
    text: parts.map((part) => part.text).join(""),
    from: first,
    to: last,
    next: stretch.to,
    totalBytes: stretch.totalBytes,
    truncated: truncation(parts, { from: stretch.from, to: stretch.to }),
    parts,
  };
};

const linesView = (answered: Answered, lines: string | undefined, open: boolean): OutputView => {
  const { totalBytes } = answered;
  const last = answered.pieces.at(-1);
  if (last === undefined || last.to !== totalBytes) return shown([], { from: 0, to: totalBytes, totalBytes });
  const to = open ? last.from + completeUtf8Length(last.bytes) : totalBytes;
  const { from, text } = tailLines(last.bytes.subarray(0, to - last.from), lines, last.from);
  return shown(text === "" ? [] : [{ from, to, text }], { from: 0, to, totalBytes });
};
