import type { DownFrame, UpFrame } from "#shared/link/frames.ts";
import { pause } from "#shared/pause.ts";

/**
 * Questions on one socket whether its agent lives. Each has a number of its own that the agent sends back: nothing that was on
 * its way before the question can have it, so nothing that the agent sent before it died is taken for an answer. An agent of a version
 * that does not know numbers answers with any ping.
 */
type Asking = { send: (frame: DownFrame) => boolean; withinMs: number; signal: AbortSignal };

export class Probes {
  readonly #open = new Map<number, () => void>();
  #count = 0;

  /** Whether the agent answers in time. */
  async ask({ send, withinMs, signal }: Asking): Promise<boolean> {
    const nonce = ++this.#count;
    const answered = Promise.withResolvers<boolean>();
    this.#open.set(nonce, () => answered.resolve(true));
    try {
      if (!send({ type: "probe", nonce })) return false;
      return await Promise.race([answered.promise, pause(withinMs, signal).then(() => false)]);
    } finally {
      this.#open.delete(nonce);
    }
  }

  heard(frame: UpFrame, { echoes }: { echoes: boolean }): void {
    if (frame.type !== "ping") return;
    for (const [nonce, answer] of this.#open) if (!echoes || frame.nonce === nonce) answer();
  }
}
