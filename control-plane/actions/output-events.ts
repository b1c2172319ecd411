import type { StreamName } from "#shared/streams.ts";
import { completeUtf8Length, decodeText, isCleanText } from "#shared/output/utf8.ts";
import { toBase64 } from "#shared/base64.ts";
import type { Position } from "./follow-position.ts";
import type { StreamChunk } from "./follow-stream.ts";

export type OutputEvent = { at: Position } & (
  | { event: "output"; stream: StreamName; from: number; to: number; text: string }
  | { event: "output"; stream: StreamName; from: number; to: number; b64: string }
  | { event: "gap"; stream: StreamName; from: number; to: number }
);

const maxEventBytes = 64 * 1024;

type Held = { from: number; bytes: Uint8Array };

/**
 * Chunks of streams as events: text where the bytes are clean UTF-8, base64 otherwise. A code point that a chunk cuts is
 * held until its rest comes, so the position never lies inside of one; a resume reads the held bytes again.
 */
export class OutputText {
  readonly #position: Position;
  readonly #held = new Map<StreamName, Held>();

  constructor(position: Position) {
    this.#position = position;
  }

  *take(chunk: StreamChunk): Generator<OutputEvent> {
    if (chunk.bytes === null) {
      yield* this.flush(chunk.stream);
      yield this.#moved(chunk.stream, { event: "gap", stream: chunk.stream, from: chunk.from, to: chunk.to });
      return;
    }
    const held = this.#held.get(chunk.stream);
    this.#held.delete(chunk.stream);
    yield* this.#pieces(
      chunk.stream,
      held?.from ?? chunk.from,
      held === undefined ? chunk.bytes : joined(held.bytes, chunk.bytes),
    );
  }

  /** What is held comes out as it is: nothing will complete it any more. */
  *flush(only?: StreamName): Generator<OutputEvent> {
    for (const [stream, { from, bytes }] of [...this.#held]) {
      if (only !== undefined && stream !== only) continue;
      this.#held.delete(stream);
      yield this.#output(stream, from, bytes);
    }
  }

  /** Whether every stream was taken up to these totals, held bytes included. */
  reached(totals: Partial<Record<StreamName, number>>): boolean {
    return Object.entries(totals).every(([stream, total]) => this.#takenTo(stream as StreamName) >= total);
  }

  #takenTo(stream: StreamName): number {
    const held = this.#held.get(stream);
    return held === undefined ? this.#position.offsets[stream] : held.from + held.bytes.length;
  }

  *#pieces(stream: StreamName, from: number, bytes: Uint8Array): Generator<OutputEvent> {
    for (let at = 0; at < bytes.length;) {
      const rest = bytes.subarray(at, at + maxEventBytes);
      const length = completeUtf8Length(rest);
      if (length === 0) {
        this.#held.set(stream, { from: from + at, bytes: rest });
        return;
      }
      yield this.#output(stream, from + at, rest.subarray(0, length));
      at += length;
    }
  }

  #output(stream: StreamName, from: number, bytes: Uint8Array): OutputEvent {
    const place = { event: "output" as const, stream, from, to: from + bytes.length };
    return this.#moved(
      stream,
      isCleanText(bytes) ? { ...place, text: decodeText(bytes) } : { ...place, b64: toBase64(bytes) },
    );
  }

  #moved<E extends { to: number }>(stream: StreamName, event: E): E & { at: Position } {
    this.#position.offsets[stream] = event.to;
    return { ...event, at: this.#position };
  }
}

const joined = (one: Uint8Array, other: Uint8Array): Uint8Array => {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
};
