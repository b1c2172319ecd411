import { DroverError } from "#shared/errors.ts";

/**
 * Requests that stay open (long polls, streams, downloads), counted by token in the memory of one instance: each holds a timer, a
 * watch or a follow on a node, and one client that forgets to end them must not take all there are.
 */
export class OpenWaits {
  readonly #open = new Map<string, number>();

  /** Counts one more until the answer is called, which may be done again. Beyond `most` it is 429. */
  begin(token: string, most: number): () => void {
    const open = this.#open.get(token) ?? 0;
    if (most > 0 && open >= most)
      throw new DroverError(
        "rate_limited",
        `this token has ${open} waits, streams and downloads open, which is the most; end some of them`,
        { retryAfterS: 1 },
      );
    this.#open.set(token, open + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#open.get(token) ?? 1) - 1;
      if (left > 0) this.#open.set(token, left);
      else this.#open.delete(token);
    };
  }
}
