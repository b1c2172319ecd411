/** Bytes as they are taken: the source is asked for more only when the last bytes went to the network. `ended` is called however it ends. */
export const byteStream = (
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ended: () => void = () => {},
): ReadableStream<Uint8Array> => {
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await Promise.resolve(pieces.next()).catch((error: unknown) => {
          ended();
          throw error;
        });
        if (next.done !== true) return controller.enqueue(next.value);
        ended();
        controller.close();
      },
      async cancel() {
        ended();
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
};
