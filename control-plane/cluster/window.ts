/** How far a sender may be ahead of what its reader took: `room` resolves once `to` is within the window. */
export class Window {
  readonly #bytes: number;
  #creditedTo: number;
  #wake = (): void => {};
  #closed = false;

  constructor(from: number, bytes: number) {
    this.#creditedTo = from;
    this.#bytes = bytes;
  }

  credit(to: number): void {
    this.#creditedTo = Math.max(this.#creditedTo, to);
    this.#wake();
  }

  /** False when the reader is gone. */
  async room(to: number): Promise<boolean> {
    while (!this.#closed && to - this.#creditedTo > this.#bytes)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    return !this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }
}
