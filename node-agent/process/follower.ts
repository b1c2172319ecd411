import { type FSWatcher, watch } from "node:fs";
import type { StreamName } from "#shared/streams.ts";
import { chunkBytes } from "#shared/link/limits.ts";
import type { FollowedChunk, Follower } from "../engine.ts";
import { type ProcessFolder, streamPath } from "./folder.ts";
import { type Piece, readGap, readRange, streamSize } from "./output.ts";

/**
 * Streams a file as it grows, at a cost that follows the reader and not the writer. Calm: a watch on the file wakes it.
 * Flooding: one event a write would slow the writer down, so the watch is closed and the file looked at every 20 ms until
 * it is calm again. Always: a look every second, since a watch may miss something or not be had at all.
 *
 * What may be the beginning of a value that is to be hidden waits for what follows it, though not for long: who asks for a
 * password may ask with such letters.
 */
const floodEvents = 20;
const floodWindowMs = 100;
const floodLookMs = 20;
const calmAfterLooks = 10;
const safetyLookMs = 1000;
const openWaitMs = 250;

export class FileFollower implements Follower {
  #folder: ProcessFolder;
  #stream: StreamName;
  #send: (chunk: FollowedChunk) => boolean;
  #offset: number;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #again = false;
  #paused = false;
  #closed = false;
  #events = 0;
  #windowMs = 0;
  #quietLooks = 0;
  /** The beginning that is waited for, if any. */
  #open: { offset: number; sinceMs: number; timer: NodeJS.Timeout } | undefined;

  constructor(
    folder: ProcessFolder,
    stream: StreamName,
    from: number,
    send: (chunk: FollowedChunk) => boolean,
  ) {
    this.#folder = folder;
    this.#stream = stream;
    this.#offset = from;
    this.#send = send;
    this.#beCalm();
    this.look();
  }

  /** There may be more to read. */
  look(): void {
    this.#again = true;
    if (!this.#reading) void this.#readOn();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.look();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    clearInterval(this.#timer);
    clearTimeout(this.#open?.timer);
  }

  async #readOn(): Promise<void> {
    this.#reading = true;
    try {
      while (this.#again && !this.#paused && !this.#closed) {
        this.#again = false;
        await this.#readToEnd();
      }
    } catch {
      // The file went with its folder: nothing more will come.
      this.close();
    } finally {
      this.#reading = false;
    }
  }

  async #readToEnd(): Promise<void> {
    while (!this.#paused && !this.#closed) {
      const gap = readGap(this.#folder, this.#stream);
      if (this.#offset >= gap.from && this.#offset < gap.to)
        this.#deliver({ from: this.#offset, to: gap.to, bytes: null });
      const size = streamSize(this.#folder, this.#stream);
      if (this.#offset >= size) return;
      const [piece] = await readRange(this.#folder, this.#stream, {
        from: this.#offset,
        to: Math.min(size, this.#offset + chunkBytes),
      });
      // A piece that starts later means that a gap opened meanwhile: look at the gap first.
      if (piece?.from !== this.#offset || this.#closed) continue;
      const ready = this.#withoutOpen(piece);
      if (ready.from === ready.to) return;
      this.#deliver(ready);
    }
  }

  #withoutOpen(piece: Piece): Piece {
    const offset = piece.to - piece.open;
    if (piece.open > 0 && this.#open?.offset !== offset) this.#waitFor(offset);
    if (piece.open === 0 || performance.now() - (this.#open?.sinceMs ?? 0) >= openWaitMs) return piece;
    const to = Math.max(piece.from, offset);
    return { ...piece, to, bytes: piece.bytes.subarray(0, to - piece.from) };
  }

  #waitFor(offset: number): void {
    clearTimeout(this.#open?.timer);
    const timer = setTimeout(() => this.look(), openWaitMs + 1);
    this.#open = { offset, sinceMs: performance.now(), timer: timer.unref() };
  }

  #deliver(chunk: FollowedChunk): void {
    this.#offset = chunk.to;
    this.#quietLooks = 0;
    if (!this.#send(chunk)) this.#paused = true;
  }

  #onEvent(): void {
    const now = performance.now();
    if (now - this.#windowMs > floodWindowMs) [this.#windowMs, this.#events] = [now, 0];
    if (++this.#events > floodEvents) this.#beFlooded();
    this.look();
  }

  #beCalm(): void {
    try {
      this.#watcher = watch(streamPath(this.#folder, this.#stream), { persistent: false }, () =>
        this.#onEvent(),
      );
      this.#watcher.on("error", () => this.#watcher?.close());
      this.#every(safetyLookMs, () => this.look());
    } catch {
      // No file yet, or no watch to be had (a limit of the system): look often, and try again.
      this.#every(floodLookMs, () => this.#calmOrLook());
    }
  }

  #calmOrLook(): void {
    this.#beCalm();
    this.look();
  }

  #beFlooded(): void {
    this.#watcher?.close();
    this.#quietLooks = 0;
    this.#every(floodLookMs, () => {
      if (++this.#quietLooks < calmAfterLooks || this.#paused) return this.look();
      this.#calmOrLook();
    });
  }

  #every(ms: number, look: () => void): void {
    clearInterval(this.#timer);
    if (!this.#closed) this.#timer = setInterval(look, ms);
    this.#timer?.unref();
  }
}
