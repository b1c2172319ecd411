// A piece may be a megabyte, and a reader over a poor line is not stuck.
const mostIdleMs = 120_000;

/**
 * Bytes as they are taken: the source is asked for more only when the last bytes went to the network. A reader that takes nothing for
 * too long is cut, since it holds what it was to get. `ended` is called however it ends.
 */
export const byteStream = (
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ended: () => void = () => {},
  stuckAfterMs = mostIdleMs,
): ReadableStream<Uint8Array> => {
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let stuck: ReturnType<typeof setTimeout> | undefined;
  const close = async (): Promise<void> => {
    clearTimeout(stuck);
    ended();
    await pieces.return?.();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stuck);
        const next = await Promise.resolve(pieces.next()).catch((error: unknown) => {
          ended();
          throw error;
        });
        if (next.done === true) {
          ended();
          return controller.close();
        }
        controller.enqueue(next.value);
        stuck = setTimeout(() => {
          void close();
          controller.error(readerIsStuck());
        }, stuckAfterMs);
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
};

/** Its code tells the HTTP server that this end is no fault of its own. */
export const readerIsStuck = (): Error =>
  Object.assign(new Error("the reader took nothing for too long"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
