/** Bytes as base64, by the runtime's own encoder: it is on the way of every chunk of output. */
export const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
