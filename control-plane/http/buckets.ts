/**
 * Token buckets by key, in the memory of one instance: each fills by `perSecond` up to `burst`, and a take needs one. A bucket that is
 * full again is as good as none, so at most `maxKeys` are kept, those that were used last; somebody who comes from more addresses
 * than that at once empties nobody's bucket but makes theirs forgotten.
 */
export type Rate = { perSecond: number; burst: number };
export type Take = {
  ok: boolean;
  /** Whole takes that are left. */
  remaining: number;
  /** Seconds until the bucket is full. */
  resetS: number;
  /** Seconds until the next take; 0 where one is left. */
  waitS: number;
};

type Bucket = { left: number; atMs: number };

const maxKeys = 10_000;

export class Buckets {
  readonly #buckets = new Map<string, Bucket>();

  /** Takes one, where there is one. */
  take(key: string, rate: Rate, nowMs: number): Take {
    const left = this.#left(key, rate, nowMs);
    const ok = left >= 1;
    const after = ok ? left - 1 : left;
    // Behind all others: the first of the map is the one that was not used for longest.
    this.#buckets.delete(key);
    this.#buckets.set(key, { left: after, atMs: nowMs });
    if (this.#buckets.size > maxKeys) this.#forget();
    return { ok, ...this.#view(after, rate) };
  }

  /** What a take would find. */
  look(key: string, rate: Rate, nowMs: number): Take {
    const left = this.#left(key, rate, nowMs);
    return { ok: left >= 1, ...this.#view(left, rate) };
  }

  #left(key: string, { perSecond, burst }: Rate, nowMs: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return burst;
    // A clock that was set back gives nothing and takes nothing.
    const passedS = Math.max(0, nowMs - bucket.atMs) / 1000;
    return Math.min(burst, bucket.left + passedS * perSecond);
  }

  #view(left: number, { perSecond, burst }: Rate): Omit<Take, "ok"> {
    return {
      remaining: Math.floor(left),
      resetS: Math.ceil((burst - left) / perSecond),
      waitS: left >= 1 ? 0 : Math.max(1, Math.ceil((1 - left) / perSecond)),
    };
  }

  #forget(): void {
    for (const key of this.#buckets.keys()) {
      this.#buckets.delete(key);
      return;
    }
  }
}
