/**
 * Tells things elsewhere, each once however often it is told meanwhile. One sending is on its way at a time, and what is told in the
 * same turn of the event loop or meanwhile goes out together, so a burst costs few of them. What cannot be sent is dropped.
 */
export class Telling<T> {
  readonly #send: (things: T[]) => Promise<void>;
  readonly #onFailure: (error: unknown, things: T[]) => void;
  readonly #due = new Set<T>();
  #sending: Promise<void> | undefined;

  constructor(send: (things: T[]) => Promise<void>, onFailure: (error: unknown, things: T[]) => void) {
    this.#send = send;
    this.#onFailure = onFailure;
  }

  /** Resolves when the sending is over with which it goes out. */
  tell(thing: T): Promise<void> {
    this.#due.add(thing);
    return (this.#sending ??= Promise.resolve().then(() => this.#sendAll()));
  }

  /** Resolves when nothing is on its way. */
  async told(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#due.size > 0) {
      const things = [...this.#due];
      this.#due.clear();
      await this.#send(things).catch((error: unknown) => this.#onFailure(error, things));
    }
    this.#sending = undefined;
  }
}
