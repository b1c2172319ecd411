import type { StreamName } from "#shared/streams.ts";
import type { Needs, OutputChunk } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import type { FollowedRow } from "./followed-row.ts";
import { maxReadBytes, readBytes, stored, type Answered } from "./read-bytes.ts";
import { isGone } from "./stop-process.ts";

/**
 * All bytes of one stream from an offset, in order, once each. While something of the process lives, its node streams
 * them; when its socket goes this waits until it is back and goes on where it was. Once nothing lives the rest is read
 * up to the final total, and the generator ends. What is kept nowhere any more is a chunk without bytes.
 */
export type StreamChunk = OutputChunk & { stream: StreamName };
type Place = { stream: StreamName; from: number };

const againMs = 500;

export async function* followStream(
  needs: Needs,
  followed: FollowedRow,
  place: Place,
): AsyncGenerator<StreamChunk, void> {
  const { stream } = place;
  let { from } = place;
  while (!followed.signal.aborted && !isGone(followed.row)) {
    if (followed.row.status !== "queued" && (await needs.hub.online(followed.row.nodeId))) {
      const live = AbortSignal.any([followed.signal, followed.gone]);
      for await (const chunk of needs.hub.follow(
        followed.row.nodeId,
        { id: followed.row.id, stream, from },
        live,
      )) {
        yield { ...chunk, stream };
        from = chunk.to;
      }
    }
    if (!isGone(followed.row)) await followed.changed(againMs);
  }
  if (!followed.signal.aborted) yield* readRest(needs, followed, { stream, from });
}

async function* readRest(
  needs: Needs,
  followed: FollowedRow,
  { stream, from }: Place,
): AsyncGenerator<StreamChunk, void> {
  const { totalBytes } = await stored(needs, followed.row, stream);
  while (from < totalBytes && !followed.signal.aborted) {
    const to = Math.min(totalBytes, from + maxReadBytes);
    const answered = await readBytes(needs, followed.row, stream, { from, to });
    if (await mayComeBack(needs, followed.row, answered)) {
      // The part that the store has comes first; then the node has to be back.
      const chunk = firstStored(answered, from);
      if (chunk === undefined) await waitForNode(needs, followed);
      else yield { ...chunk, stream };
      from = chunk?.to ?? from;
      continue;
    }
    for (const chunk of withGaps(answered, { from, to })) yield { ...chunk, stream };
    from = to;
  }
}

/** Bytes of a lost process, or of a node that was deleted, will not come any more: they are gaps. */
const mayComeBack = async (needs: Needs, row: ProcessRow, answered: Answered): Promise<boolean> =>
  answered.source === "away" &&
  row.status !== "lost" &&
  (await needs.store.nodes.find(row.nodeId)) !== undefined;

const firstStored = (answered: Answered, from: number): OutputChunk | undefined =>
  answered.pieces.find((piece) => piece.from === from);

const waitForNode = async (needs: Needs, followed: FollowedRow): Promise<void> => {
  const unsubscribe = needs.bus.subscribe(`node:${followed.row.nodeId}`, () => followed.wake());
  await followed.changed((await needs.hub.online(followed.row.nodeId)) ? againMs : 15_000);
  unsubscribe();
};

function* withGaps(answered: Answered, stretch: { from: number; to: number }): Generator<OutputChunk> {
  let at = stretch.from;
  for (const piece of answered.pieces) {
    if (piece.from > at) yield { from: at, to: piece.from, bytes: null };
    yield piece;
    at = piece.to;
  }
  if (at < stretch.to) yield { from: at, to: stretch.to, bytes: null };
}
