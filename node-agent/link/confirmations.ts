/**
 * Says `accepted` of starts that take their time. Most commands have ended, and were reported, before it would be of use to
 * anybody: the control plane asks after half a minute whether a start has arrived.
 */
const afterMs = 100;

export class Confirmations {
  readonly #waiting = new Set<string>();
  readonly #say: (id: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(say: (id: string) => void) {
    this.#say = say;
  }

  add(id: string): void {
    this.#waiting.add(id);
    this.#timer ??= setTimeout(() => this.#flush(), afterMs);
  }

  /** A report of it goes out, which says the same. */
  drop(id: string): void {
    this.#waiting.delete(id);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    this.#timer = undefined;
    const ids = [...this.#waiting];
    this.#waiting.clear();
    for (const id of ids) this.#say(id);
  }
}
