import type { DownFrame, UpFrame } from "#shared/link/frames.ts";
import { chunkBytes, windowBytes } from "#shared/link/limits.ts";
import type { OutputChunk } from "../needs.ts";
import { fromBase64 } from "#shared/base64.ts";

/**
 * One follower of one stream. The agent sends at most `windowBytes` ahead of the last credit; credit is given as chunks are
 * taken, so a reader that stops stops the agent's sending and never its process. Frames that are out of order, or more
 * than the window, end the iteration (the reader follows again from where it was).
 */
export type OutputFrame = Extract<UpFrame, { type: "output" }>;
type FollowFrame = Extract<DownFrame, { type: "follow" }>;

/** Credit is given in steps of this size, so that a byte taken costs no frame of its own. */
const creditStepBytes = windowBytes / 4;
/** The last chunk before the window is full may reach past it. */
const maxQueuedBytes = windowBytes + chunkBytes;
/** Many tiny chunks must not cost much more memory than their bytes. */
const maxChunks = 16_384;

export class Follow {
  readonly #frame: FollowFrame;
  readonly #send: (frame: DownFrame) => boolean;
  readonly #chunks: OutputChunk[] = [];
  #queuedBytes = 0;
  #at: number;
  #creditedTo: number;
  #ended = false;
  #wake = (): void => {};

  constructor(frame: FollowFrame, send: (frame: DownFrame) => boolean) {
    this.#frame = frame;
    this.#send = send;
    this.#at = frame.from;
    this.#creditedTo = frame.from;
  }

  /** Takes what the agent sent; false when it broke the rules, and the follow is over. */
  take(frame: OutputFrame): boolean {
    if (this.#ended || (frame.gap === undefined && frame.to === frame.from)) return true;
    const bytes = frame.gap === undefined ? fromBase64(frame.b64 ?? "") : null;
    if (
      frame.from !== this.#at ||
      frame.to < frame.from ||
      (bytes !== null && bytes.length !== frame.to - frame.from)
    )
      return this.#cut();
    this.#queuedBytes += bytes?.length ?? 0;
    if (this.#queuedBytes > maxQueuedBytes || this.#chunks.length >= maxChunks) return this.#cut();
    this.#at = frame.to;
    this.#chunks.push({ from: frame.from, to: frame.to, bytes });
    this.#wake();
    return true;
  }

  /** The chunks in order, until the signal aborts or the socket goes. */
  async *chunks(signal: AbortSignal): AsyncGenerator<OutputChunk, void, undefined> {
    const end = (): void => this.end();
    signal.addEventListener("abort", end);
    if (signal.aborted) this.end();
    try {
      for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) {
        yield chunk;
        this.#credit(chunk.to);
      }
    } finally {
      signal.removeEventListener("abort", end);
      this.end();
      this.#send({ type: "unfollow", follow: this.#frame.follow });
    }
  }

  end(): void {
    this.#ended = true;
    this.#chunks.length = 0;
    this.#wake();
  }

  #cut(): false {
    this.end();
    return false;
  }

  async #next(): Promise<OutputChunk | undefined> {
    while (this.#chunks.length === 0 && !this.#ended)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    const chunk = this.#chunks.shift();
    this.#queuedBytes -= chunk?.bytes?.length ?? 0;
    return chunk;
  }

  #credit(to: number): void {
    if (this.#ended || to - this.#creditedTo < creditStepBytes) return;
    this.#creditedTo = to;
    this.#send({ type: "credit", follow: this.#frame.follow, to });
  }
}
