import type { DownFrame, Reply, RequestFrame } from "#shared/link/frames.ts";
import type { RequestOutcome, RequestWithoutId } from "../needs.ts";

/** Requests of one socket that wait for their reply at the same time, at most. */
const maxWaiting = 10_000;

/** The requests that wait for their reply on one socket. Each ends once: by its reply, its time, its client or the socket's end. */
export class Requests {
  readonly #send: (frame: DownFrame) => boolean;
  readonly #waiting = new Map<string, (outcome: RequestOutcome) => void>();
  #last = 0;
  #closed = false;

  constructor(send: (frame: DownFrame) => boolean) {
    this.#send = send;
  }

  ask(
    frame: RequestWithoutId,
    limit: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<RequestOutcome> {
    if (this.#closed) return Promise.resolve({ outcome: "offline" });
    if (limit.signal?.aborted) return Promise.resolve({ outcome: "no_answer" });
    if (this.#waiting.size >= maxWaiting)
      return Promise.resolve({
        outcome: "refused",
        code: "unavailable",
        message: "too many requests wait for this node",
      });
    this.#last += 1;
    const rid = `r${this.#last}`;
    const answer = this.#answer(rid, limit);
    // Sent after the waiting began: a reply could come at once.
    if (!this.#send({ ...frame, rid } as RequestFrame)) this.#waiting.get(rid)?.({ outcome: "offline" });
    return answer;
  }

  settle({ rid, value, error }: Reply): void {
    this.#waiting.get(rid)?.(
      error === undefined
        ? { outcome: "ok", value }
        : { outcome: "refused", code: error.code, message: error.message },
    );
  }

  close(): void {
    this.#closed = true;
    for (const end of this.#waiting.values()) end({ outcome: "no_answer" });
  }

  #answer(
    rid: string,
    { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<RequestOutcome> {
    return new Promise((resolve) => {
      const abandon = (): void => {
        end({ outcome: "no_answer" });
        this.#send({ type: "abandon", rid });
      };
      const end = (outcome: RequestOutcome): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abandon);
        this.#waiting.delete(rid);
        resolve(outcome);
      };
      const timer = setTimeout(abandon, timeoutMs);
      signal?.addEventListener("abort", abandon);
      this.#waiting.set(rid, end);
    });
  }
}
