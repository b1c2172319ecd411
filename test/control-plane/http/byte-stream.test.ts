import { describe, expect, it } from "vitest";
import { byteStream } from "../../../control-plane/http/byte-stream.ts";

const piece = Uint8Array.of(1, 2, 3);

/** Pieces without end, and whether their source was told that nobody wants more. */
const endless = () => {
  const source = { isOver: false, ended: Promise.withResolvers<void>() };
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) yield piece;
    } finally {
      source.ended.resolve();
    }
  }
  return { ...source, pieces: pieces() };
};

describe("a download", () => {
  it("is over once: at its end, when its source fails, or when its reader leaves", async () => {
    let over = 0;
    const end = (): void => void (over += 1);
    expect(await new Response(byteStream([piece, piece], end)).bytes()).toHaveLength(6);
    expect(over).toBe(1);
    const failing = byteStream(
      (async function* () {
        yield piece;
        await Promise.reject(new Error("the node went"));
      })(),
      end,
    );
    await expect(new Response(failing).bytes()).rejects.toThrow("the node went");
    expect(over).toBe(2);
    const source = endless();
    const reader = byteStream(source.pieces, end).getReader();
    await reader.read();
    await reader.cancel();
    await source.ended.promise;
    expect(over).toBe(3);
  });

  it("whose reader takes nothing for too long is cut, and its source ends", async () => {
    const over = Promise.withResolvers<void>();
    const source = endless();
    const reader = byteStream(source.pieces, over.resolve, 20).getReader();
    expect(await reader.read()).toEqual({ done: false, value: piece });
    await Promise.all([over.promise, source.ended.promise]);
    await expect(reader.read()).rejects.toMatchObject({ code: "ERR_STREAM_PREMATURE_CLOSE" });
  });
});
