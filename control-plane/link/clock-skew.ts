/** A clock that is further from ours than this is worth a line in the log. */
const remarkableMs = 5000;

/**
 * How far an agent's clock is from ours, as measured when its last frame that tells came in. It is for people to see:
 * every time of a node or process is made of our clock and of ages on the agent's monotonic one.
 */
export class ClockSkew {
  #ms: number | null = null;
  #told = false;
  readonly #tell: (clockSkewMs: number) => void;

  /** `tell` is called once, when the clock is far off. */
  constructor(tell: (clockSkewMs: number) => void) {
    this.#tell = tell;
  }

  /** Positive where the agent's clock is ahead; null while it did not say. */
  get ms(): number | null {
    return this.#ms;
  }

  measure(wallAt: number | undefined, now: Date): void {
    if (wallAt === undefined) return;
    this.#ms = wallAt - now.getTime();
    if (this.#told || Math.abs(this.#ms) <= remarkableMs) return;
    this.#told = true;
    this.#tell(this.#ms);
  }
}
