import type { SocketEnd } from "./socket.ts";

const unauthorized = 401;

/** Connects with the first of the keys that is not refused: another is tried only where the control plane does not know the one before. */
export async function tryKeys<T extends { end: SocketEnd }>(
  [newest = "", ...older]: readonly string[],
  signal: AbortSignal,
  connect: (key: string) => Promise<T>,
): Promise<T> {
  let tried = await connect(newest);
  for (const key of older) {
    if (tried.end.httpStatus !== unauthorized || signal.aborted) break;
    tried = await connect(key);
  }
  return tried;
}
