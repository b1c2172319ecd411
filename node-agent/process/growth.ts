import type { StreamName } from "#shared/streams.ts";
import type { FollowedChunk, Follower } from "../engine.ts";
import type { Stream } from "./blocks.ts";
import { streamSize } from "./output.ts";

export type Follow = (
  stream: StreamName,
  from: number,
  onChunk: (chunk: FollowedChunk) => boolean,
) => Follower;

// A writer that floods is looked at this often, and what it writes in between is not read here.
const restMs = 20;

/**
 * Says when a stream grows, from the moment it is made. A follower wakes it and is closed at the first chunk; a new one begins
 * at the end of the stream a moment later, and what was written in between counts as growth then.
 */
export class Growth {
  /** When the stream was last seen to grow; at first the moment this was made. */
  lastMs = performance.now();
  #stream: Stream;
  #follow: Follow;
  #stop: AbortSignal;
  #size: number;
  #wake = Promise.withResolvers<void>();
  #follower: Follower | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** An abort of `stop` wakes those who wait, and nothing is followed any more. */
  constructor(stream: Stream, follow: Follow, stop: AbortSignal) {
    this.#stream = stream;
    this.#follow = follow;
    this.#stop = stop;
    this.#size = streamSize(stream.folder, stream.stream);
    stop.addEventListener("abort", this.#end, { once: true });
    this.#listen();
  }

  /** Resolves at the next growth or at the stop. */
  next(): Promise<void> {
    return this.#wake.promise;
  }

  /** Takes note of a growth; also of one that somebody else saw first. */
  seen(): void {
    this.lastMs = performance.now();
    this.#notify();
  }

  close(): void {
    this.#stop.removeEventListener("abort", this.#end);
    this.#end();
  }

  #listen(): void {
    if (this.#stop.aborted) return;
    this.#follower = this.#follow(this.#stream.stream, this.#size, () => {
      this.seen();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#listenAgain(), restMs);
      return false;
    });
  }

  #listenAgain(): void {
    this.#follower?.close();
    const before = this.#size;
    this.#size = streamSize(this.#stream.folder, this.#stream.stream);
    this.#listen();
    if (this.#size > before) this.seen();
  }

  #end = (): void => {
    clearTimeout(this.#timer);
    this.#follower?.close();
    this.#notify();
  };

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
