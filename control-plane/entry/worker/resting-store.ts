import type { Store } from "../../store/store.ts";

/**
 * A store that is open only while it is asked: it opens with a question and closes a moment after the last answer. An
 * object that keeps a connection open is never put to sleep, and one that keeps a question open must not be.
 */
export class RestingStore {
  readonly store: Store;
  readonly #open: () => Store;
  readonly #before: (store: Store) => Promise<void>;
  readonly #lingerMs: number;
  #current: Store | undefined;
  #asked = 0;
  #linger: ReturnType<typeof setTimeout> | undefined;
  #waiting: (() => void)[] = [];

  /** `before` is awaited by each question, which fails with it. */
  constructor(
    open: () => Store,
    { before, lingerMs }: { before: (store: Store) => Promise<void>; lingerMs: number },
  ) {
    this.#open = open;
    this.#before = before;
    this.#lingerMs = lingerMs;
    this.store = this.#asking(open());
  }

  /** Resolves when nothing is asked and the connections are closed. */
  settled(): Promise<void> {
    if (this.#current === undefined) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  /** The verbs of a store, and of its rooms, over whichever store is open by then. */
  #asking(pattern: Store): Store {
    const verbs = Object.entries(pattern).map(([name, found]: [string, unknown]) => [
      name,
      typeof found === "function" ? this.#verb([name]) : this.#room(name, found as object),
    ]);
    return Object.fromEntries(verbs) as Store;
  }

  #room(name: string, pattern: object): object {
    return new Proxy(pattern, { get: (_target, verb) => this.#verb([name, verb]) });
  }

  #verb(path: PropertyKey[]) {
    return async (...args: unknown[]): Promise<unknown> => {
      const store = this.#take();
      try {
        await this.#before(store);
        let [self, verb]: [unknown, unknown] = [undefined, store];
        for (const name of path) [self, verb] = [verb, Reflect.get(verb as object, name)];
        return await Reflect.apply(verb as () => unknown, self, args);
      } finally {
        this.#giveBack();
      }
    };
  }

  #take(): Store {
    clearTimeout(this.#linger);
    this.#asked += 1;
    return (this.#current ??= this.#open());
  }

  #giveBack(): void {
    this.#asked -= 1;
    if (this.#asked === 0) this.#linger = setTimeout(() => void this.#close(), this.#lingerMs);
  }

  async #close(): Promise<void> {
    const store = this.#current;
    this.#current = undefined;
    const waiting = this.#waiting.splice(0);
    await store?.close().catch(() => {
      // What was open is gone then, too.
    });
    for (const resolve of waiting) resolve();
  }
}
