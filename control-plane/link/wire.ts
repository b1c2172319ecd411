import type { DownFrame } from "#shared/link/frames.ts";
import { closeReason, fitsInFrame } from "./frame-text.ts";
import type { AgentSocket, KeptSession } from "./socket.ts";
import type { LinkTimes } from "./times.ts";

/** A socket whose far end takes nothing must not fill the memory: past this it is dropped. */
const maxBufferedBytes = 32 * 1024 * 1024;

/**
 * The sending side and the clock of one socket: frames go out while it is open and takes them, and it is dropped when nothing
 * was heard for `silenceMs`. Whatever ends it, `onEnd` is called once.
 */
export class Wire {
  readonly #socket: AgentSocket;
  readonly #times: LinkTimes;
  readonly #onEnd: (why: string) => void;
  #open = true;
  #closed = false;
  #heardAt = performance.now();
  #saidAt = -Infinity;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #closing: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: AgentSocket, times: LinkTimes, onEnd: (why: string) => void) {
    this.#socket = socket;
    this.#times = times;
    this.#onEnd = onEnd;
    if (Number.isFinite(times.silenceMs)) this.#watch(times.silenceMs);
  }

  get open(): boolean {
    return this.#open;
  }

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** When a ping was answered of which nobody here heard. */
  get answeredAt(): Date | null {
    return this.#socket.answeredAt ?? null;
  }

  /** From now on the session can be resumed. */
  keep(kept: KeptSession): void {
    if (this.#open) this.#socket.keep?.(kept);
  }

  /** False when the socket is not open or the frame is larger than a frame may be. */
  send(frame: DownFrame): boolean {
    if (!this.#open) return false;
    if (this.#socket.bufferedAmount > maxBufferedBytes) {
      this.terminate("too_slow");
      return false;
    }
    const text = JSON.stringify(frame);
    if (!fitsInFrame(text)) return false;
    this.#socket.send(text);
    this.#saidAt = performance.now();
    return true;
  }

  /** Answers a sign of life, unless the far end heard something lately. */
  answer(): void {
    if (performance.now() - this.#saidAt >= this.#times.pongEveryMs) this.send({ type: "pong" });
  }

  close(code: number, reason: string): void {
    if (!this.#open) return;
    this.#socket.close(code, closeReason(reason));
    this.#closing = setTimeout(() => this.#drop(), this.#times.closingMs);
    this.#end(`${code} ${reason}`);
  }

  terminate(why: string): void {
    if (!this.#open) return;
    this.#drop();
    this.#end(why);
  }

  /** The socket is gone. */
  closed(): void {
    this.#closed = true;
    clearTimeout(this.#closing);
    if (this.#open) this.#end("closed");
  }

  #drop(): void {
    if (!this.#closed) this.#socket.terminate();
  }

  #end(why: string): void {
    this.#open = false;
    clearTimeout(this.#silence);
    this.#onEnd(why);
  }

  #watch(waitMs: number): void {
    const due = performance.now() + waitMs;
    this.#silence = setTimeout(() => {
      const now = performance.now();
      const leftMs = this.#heardAt + this.#times.silenceMs - now;
      // A timer this late says that this process stood still, not that the agent did: what came meanwhile is read first.
      const late = now - due > this.#times.silenceMs / 5;
      if (leftMs > 0 || late) this.#watch(Math.max(leftMs, this.#times.silenceMs / 5));
      else this.terminate("silent");
    }, waitMs);
  }
}
