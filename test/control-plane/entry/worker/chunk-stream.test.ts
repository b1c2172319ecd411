import { describe, expect, it, vi } from "vitest";
import { chunkStream, chunksOf } from "../../../../control-plane/entry/worker/chunk-stream.ts";
import type { OutputChunk } from "../../../../control-plane/needs.ts";

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => at % 251);
const chunks: OutputChunk[] = [
  { from: 0, to: 3, bytes: bytes(3) },
  { from: 3, to: 2 ** 40, bytes: null },
  { from: 2 ** 40, to: 2 ** 40 + 65_536, bytes: bytes(65_536) },
];
async function* all(): AsyncGenerator<OutputChunk, void> {
  yield* chunks;
}

describe("chunks on their way between an object and a request", () => {
  it("arrive as they were, gaps too, however the bytes are cut up", async () => {
    const whole = chunkStream(all(), { beatEveryMs: 1000, over() {} });
    const cut = whole.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, controller) {
          for (let at = 0; at < piece.length; at += 7) controller.enqueue(piece.slice(at, at + 7));
        },
      }),
    );
    const heard: OutputChunk[] = [];
    for await (const chunk of chunksOf(cut.getReader())) heard.push(chunk);
    expect(heard).toEqual(chunks);
  });

  it("are made no faster than they are taken", async () => {
    const made = vi.fn<() => void>();
    async function* endless(): AsyncGenerator<OutputChunk, void> {
      for (let at = 0; ; at += 65_536) {
        made();
        yield { from: at, to: at + 65_536, bytes: bytes(65_536) };
      }
    }
    const reader = chunkStream(endless(), { beatEveryMs: 1000, over() {} }).getReader();
    await reader.read();
    expect(made.mock.calls.length).toBeLessThanOrEqual(2);
    await reader.cancel();
  });

  it("beat while there are none, which nobody hears, and tell the object when their reader left", async () => {
    const over = vi.fn<() => void>();
    async function* late(): AsyncGenerator<OutputChunk, void> {
      await new Promise((resolve) => setTimeout(resolve, 30));
      yield* chunks;
    }
    const reader = chunkStream(late(), { beatEveryMs: 2, over }).getReader();
    const heard = chunksOf(reader);
    expect((await heard.next()).value).toEqual(chunks[0]);
    await reader.cancel();
    expect(over).toHaveBeenCalledTimes(1);
  });

  it("end with all they hold when their reader leaves behind one and nobody asks for the next", async () => {
    let isClean = false;
    async function* cleaning(): AsyncGenerator<OutputChunk, void> {
      try {
        yield* chunks;
      } finally {
        isClean = true;
      }
    }
    const reader = chunkStream(cleaning(), { beatEveryMs: 1000, over() {} }).getReader();
    await reader.read();
    await reader.cancel();
    await vi.waitFor(() => expect(isClean).toBe(true));
  });

  it("end where the stream breaks", async () => {
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("gone")),
    });
    const heard: OutputChunk[] = [];
    for await (const chunk of chunksOf(broken.getReader())) heard.push(chunk);
    expect(heard).toEqual([]);
  });
});
