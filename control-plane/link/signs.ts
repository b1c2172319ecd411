import type { NodeSign } from "../store/store.ts";

/**
 * What the sessions of this process last heard of their nodes: one book for all, written down now and then, so that ten
 * thousand nodes that ping cost a few statements and not one each. Only nodes that were heard since the last time are
 * written. What cannot be written stays for the next time, unless something newer came.
 */
export type SignsNeeds = {
  write: (signs: NodeSign[]) => Promise<void>;
  everyMs: number;
  onFailure: (error: unknown) => void;
};

const maxRows = 1000;
const soonMs = 1000;

export class Signs {
  readonly #needs: SignsNeeds;
  readonly #book = new Map<string, NodeSign>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSoon = false;
  #closed = false;

  constructor(needs: SignsNeeds) {
    this.#needs = needs;
  }

  /** `soon`: other control planes know nothing of this node yet. */
  note(sign: NodeSign, { soon = false } = {}): void {
    this.#book.set(sign.nodeId, sign);
    this.#plan(soon);
  }

  /** Writes down what there is, trying once. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flush();
  }

  #plan(soon: boolean): void {
    if (this.#closed || (this.#timer !== undefined && (this.#isSoon || !soon))) return;
    clearTimeout(this.#timer);
    this.#isSoon = soon;
    const { everyMs } = this.#needs;
    this.#timer = setTimeout(() => void this.#flush(), soon ? Math.min(soonMs, everyMs) : everyMs);
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const signs = [...this.#book.values()];
    this.#book.clear();
    for (let from = 0; from < signs.length; from += maxRows)
      await this.#write(signs.slice(from, from + maxRows));
  }

  async #write(signs: NodeSign[]): Promise<void> {
    try {
      await this.#needs.write(signs);
    } catch (error) {
      this.#needs.onFailure(error);
      for (const sign of signs) if (!this.#book.has(sign.nodeId)) this.note(sign);
    }
  }
}
