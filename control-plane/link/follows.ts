import type { StreamName } from "#shared/streams.ts";
import type { DownFrame } from "#shared/link/frames.ts";
import type { OutputChunk } from "../needs.ts";
import { Follow, type OutputFrame } from "./follow.ts";

/** The followers of one socket; all end with it. */
export class Follows {
  readonly #send: (frame: DownFrame) => boolean;
  readonly #open = new Map<string, Follow>();
  #last = 0;
  #closed = false;

  constructor(send: (frame: DownFrame) => boolean) {
    this.#send = send;
  }

  async *follow(
    what: { id: string; stream: StreamName; from: number },
    signal: AbortSignal,
  ): AsyncGenerator<OutputChunk, void, undefined> {
    if (this.#closed || signal.aborted) return;
    this.#last += 1;
    const frame = { type: "follow" as const, follow: `f${this.#last}`, ...what };
    const follow = new Follow(frame, this.#send);
    this.#open.set(frame.follow, follow);
    try {
      if (this.#send(frame)) yield* follow.chunks(signal);
    } finally {
      this.#open.delete(frame.follow);
    }
  }

  /** Hands a chunk to its follower; one whose follower just left is dropped. False when it broke the rules of following. */
  take(frame: OutputFrame): boolean {
    return this.#open.get(frame.follow)?.take(frame) ?? true;
  }

  close(): void {
    this.#closed = true;
    for (const follow of this.#open.values()) follow.end();
  }
}
