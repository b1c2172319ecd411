import { pause } from "#shared/pause.ts";
import type { Bus } from "../bus/bus.ts";
import type { Log } from "../needs.ts";
import type { Letters } from "../store/cluster.ts";
import { letter, type LetterBody } from "./letter.ts";

/**
 * The post office of one instance. Letters go out in the order in which they were given, many in one statement; they are
 * taken in when a notice says that some are there, one taking after the other, until none is left.
 *
 * A statement may fail alone, while nobody's listening is interrupted. A taking whose answer was lost may have taken letters that
 * nobody will read: what waits for one is given up.
 */
export type PostNeeds = {
  letters: Letters;
  bus: Bus;
  log: Log;
  self: string;
  /** Letters were lost, to or from this instance. */
  onLost(): void;
};
export type OnLetter = (sender: string, body: LetterBody) => void;

type Outgoing = { recipient: string; body: string; sent: PromiseWithResolvers<void> };

const maxBatch = 64;
const pausesMs = [100, 200, 400, 800, 1600];
const takeAtOnce = 128;
const takeAgainMs = 500;

export class Post {
  readonly #needs: PostNeeds;
  readonly #outgoing: Outgoing[] = [];
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;
  #onLetter: OnLetter = () => {};
  #sending = false;
  #taking = false;
  #more = false;

  constructor(needs: PostNeeds) {
    this.#needs = needs;
    this.#unsubscribe = needs.bus.subscribe(`letters:${needs.self}`, () => void this.#takeAll());
  }

  onLetter(take: OnLetter): void {
    this.#onLetter = take;
  }

  /** Resolves when the letter lies in the recipient's box; rejects when the database does not take it for a while. */
  send(recipient: string, body: LetterBody): Promise<void> {
    const sent = Promise.withResolvers<void>();
    this.#outgoing.push({ recipient, body: JSON.stringify(body), sent });
    if (!this.#sending) void this.#sendAll();
    return sent.promise;
  }

  /** Sends without waiting: a letter that cannot be sent is dropped. */
  drop(recipient: string, body: LetterBody): void {
    this.send(recipient, body).catch((error: unknown) => this.#failed(error));
  }

  /** Sends to whichever other instance has the node's socket; undefined when none has. */
  sendToHolder(nodeId: string, body: LetterBody): Promise<string | undefined> {
    return this.#needs.letters.sendToHolder(this.#needs.self, { nodeId, body: JSON.stringify(body) });
  }

  close(): void {
    this.#closing.abort();
    this.#unsubscribe();
  }

  async #sendAll(): Promise<void> {
    this.#sending = true;
    while (this.#outgoing.length > 0) await this.#sendSome(this.#outgoing.splice(0, maxBatch));
    this.#sending = false;
  }

  async #sendSome(batch: Outgoing[]): Promise<void> {
    const letters = batch.map(({ recipient, body }) => ({ recipient, body }));
    try {
      await this.#insist(() => this.#needs.letters.send(this.#needs.self, letters));
      for (const { sent } of batch) sent.resolve();
    } catch (error) {
      for (const { sent } of batch) sent.reject(error);
      this.#needs.onLost();
    }
  }

  /** A connection that broke costs no letter: they are sent again, maybe twice, and a reader who minds begins anew. */
  async #insist(send: () => Promise<void>): Promise<void> {
    for (const pauseMs of pausesMs) {
      try {
        return await send();
      } catch (error) {
        this.#failed(error);
      }
      await pause(pauseMs, this.#closing.signal);
    }
    await send();
  }

  async #takeAll(): Promise<void> {
    this.#more = true;
    if (this.#taking) return;
    this.#taking = true;
    while (this.#more && !this.#closing.signal.aborted) {
      try {
        await this.#takeSome();
      } catch (error) {
        this.#failed(error);
        this.#needs.onLost();
        this.#more = true;
        await pause(takeAgainMs, this.#closing.signal);
      }
    }
    this.#taking = false;
  }

  async #takeSome(): Promise<void> {
    // Before the taking: a notice that comes during it may be about a letter that it does not see.
    this.#more = false;
    const { letters, more } = await this.#needs.letters.take(this.#needs.self, takeAtOnce);
    this.#more ||= more;
    for (const { sender, body } of letters) this.#hand(sender, body);
  }

  #hand(sender: string, body: string): void {
    try {
      this.#onLetter(sender, letter.parse(JSON.parse(body)));
    } catch (error) {
      // Another version of Drover may write letters that this one does not know; the others are not its fault.
      this.#needs.log.warn("letter.not_understood", { sender, error });
    }
  }

  #failed(error: unknown): void {
    this.#needs.log.warn("post.failed", { error });
  }
}
