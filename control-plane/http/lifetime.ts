import { DroverError } from "#shared/errors.ts";
import { accessIsVoid, canEnd } from "../actions/access-watch.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";

/** How long an answer that streams may go on; whoever streams says when it is over. */
export type Lasting = { signal: AbortSignal; end(): void };

/**
 * The time that a request may wait or stream: until the client leaves, the control plane closes, or the token or
 * the session that it came with is no longer good. They are looked after from when somebody asks for the signal until the answer is made, or until
 * whoever took `last` ends it.
 */
export class Lifetime {
  readonly #over = new AbortController();
  readonly #void = new AbortController();
  readonly #needs: Needs;
  readonly #principal: Principal | undefined;
  readonly #ends: AbortSignal[];
  #signal: AbortSignal | undefined;
  #lasts = false;

  constructor(needs: Needs, principal: Principal | undefined, ends: AbortSignal[]) {
    this.#needs = needs;
    this.#principal = principal;
    this.#ends = ends;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#begin();
    return this.#signal;
  }

  last(): Lasting {
    this.#lasts = true;
    return { signal: this.signal, end: () => this.#over.abort() };
  }

  /** The answer is made: nothing waits any more, unless it streams. One that waited with a token or session that is void is none. */
  settle(): void {
    if (!this.#lasts) this.#over.abort();
    if (this.#void.signal.aborted)
      throw new DroverError(
        "unauthorized",
        "the token was revoked, the session ended, or either has expired meanwhile",
      );
  }

  /** Calls this once when it is over. Where a client has left, nothing behind an await may be run on Workers: its signal says it. */
  whenOver(over: () => void): void {
    for (const end of [...this.#ends, this.#over.signal]) end.addEventListener("abort", over, { once: true });
  }

  /** It failed, or nobody reads it. */
  end(): void {
    this.#over.abort();
  }

  #begin(): AbortSignal {
    const principal = this.#principal;
    if (principal === undefined || !canEnd(principal)) return AbortSignal.any(this.#ends);
    const over = AbortSignal.any([...this.#ends, this.#over.signal]);
    void accessIsVoid(this.#needs, principal, over).then((isVoid) => isVoid && this.#void.abort());
    return AbortSignal.any([...this.#ends, this.#void.signal]);
  }
}
