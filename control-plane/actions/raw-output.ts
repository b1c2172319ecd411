import type { StreamName } from "#shared/streams.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { nodeOffline } from "./ask-node.ts";
import { maxReadBytes, readBytes, type Answered } from "./read-bytes.ts";
import { truncation } from "./output-text.ts";

type Of = { row: ProcessRow; stream: StreamName };

/**
 * All bytes of a stream that are still kept, up to what was written when this began. The first step is read before the
 * answer begins, so that a node that is away is an error and no broken body.
 */
export const rawOutput = async (
  needs: Needs,
  of: Of,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> => {
  const first = await step(needs, of, { from: 0, to: maxReadBytes });
  return steps(needs, of, { first, signal });
};

async function* steps(
  needs: Needs,
  of: Of,
  { first, signal }: { first: Answered; signal: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  for (const piece of first.pieces) yield piece.bytes;
  for (let from = maxReadBytes; from < first.totalBytes && !signal.aborted; from += maxReadBytes) {
    const { pieces } = await step(needs, of, { from, to: Math.min(from + maxReadBytes, first.totalBytes) });
    for (const piece of pieces) yield piece.bytes;
  }
}

const step = async (
  needs: Needs,
  { row, stream }: Of,
  range: { from: number; to: number },
): Promise<Answered> => {
  const answered = await readBytes(needs, row, stream, range);
  const to = Math.min(range.to, answered.totalBytes);
  if (answered.source === "away" && truncation(answered.pieces, { from: range.from, to }) !== null)
    throw nodeOffline();
  return answered;
};
