import { within } from "#shared/within.ts";
import type { OutputChunk } from "../../needs.ts";

/**
 * Followed output on its way from the object of a node to whoever follows: chunks as bytes of a stream, which the runtime hands
 * on no faster than they are taken. A chunk is a head (its kind, from, to, and how many bytes follow) and its bytes. A beat
 * goes out when nothing else did for a while: only by writing does the object learn that nobody reads any more.
 */
const kinds = { beat: 0, bytes: 1, gap: 2 } as const;
const headBytes = 1 + 8 + 8 + 4;

const piece = (kind: number, { from, to, bytes }: OutputChunk): Uint8Array<ArrayBuffer> => {
  const made = new Uint8Array(headBytes + (bytes?.length ?? 0));
  const view = new DataView(made.buffer);
  view.setUint8(0, kind);
  view.setFloat64(1, from);
  view.setFloat64(9, to);
  view.setUint32(17, bytes?.length ?? 0);
  if (bytes !== null) made.set(bytes, headBytes);
  return made;
};

const beat = (): Uint8Array<ArrayBuffer> => piece(kinds.beat, { from: 0, to: 0, bytes: null });

/** The chunks as a stream that ends with them; `over` is called when nobody takes any more. */
export const chunkStream = (
  chunks: AsyncIterator<OutputChunk, void>,
  { beatEveryMs, over }: { beatEveryMs: number; over: () => void },
): ReadableStream<Uint8Array> => {
  let pending: Promise<IteratorResult<OutputChunk, void>> | undefined;
  return new ReadableStream({
    // Only streams of bytes cross from object to request.
    type: "bytes",
    async pull(controller) {
      pending ??= chunks.next();
      const next = await within(pending, beatEveryMs);
      if (next === undefined) return controller.enqueue(beat());
      pending = undefined;
      if (next.done === true) {
        controller.close();
        // A stream of bytes closes only when the read that waits for more is answered.
        controller.byobRequest?.respond(0);
        return;
      }
      controller.enqueue(piece(next.value.bytes === null ? kinds.gap : kinds.bytes, next.value));
    },
    cancel() {
      over();
      // Chunks that stand still behind one that was taken are told that nobody asks for the next.
      chunks.return?.().catch(() => {});
    },
  });
};

/** The chunks of such a stream, until it ends or breaks. */
export async function* chunksOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<OutputChunk, void> {
  let rest = new Uint8Array(0);
  for (;;) {
    const next = await reader.read().catch(() => undefined);
    if (next?.value === undefined) return;
    rest = joined(rest, next.value);
    for (let size = sizeOf(rest); size !== undefined && rest.length >= size; size = sizeOf(rest)) {
      const chunk = chunkOf(rest.subarray(0, size));
      rest = rest.subarray(size);
      if (chunk !== undefined) yield chunk;
    }
  }
}

const sizeOf = (bytes: Uint8Array): number | undefined =>
  bytes.length < headBytes ? undefined : headBytes + viewOf(bytes).getUint32(17);

const chunkOf = (bytes: Uint8Array): OutputChunk | undefined => {
  const view = viewOf(bytes);
  const kind = view.getUint8(0);
  if (kind === kinds.beat) return undefined;
  const [from, to] = [view.getFloat64(1), view.getFloat64(9)];
  return { from, to, bytes: kind === kinds.gap ? null : bytes.slice(headBytes) };
};

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const joined = (one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> => {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
};
