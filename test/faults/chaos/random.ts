/** Numbers that look random and come again with the same seed. */
export type Random = {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number, both ends included. */
  int(from: number, to: number): number;
  pick<T>(list: readonly T[]): T;
  /** One of the names, as often as its weight says. */
  weighted<K extends string>(weights: Record<K, number>): K;
  /** Another source that depends on seed and name only, so that what draws from one does not move the other. */
  fork(name: string): Random;
};

export function seeded(seed: string): Random {
  let state = hashOf(seed);
  // mulberry32: one word of state, good enough to spread faults.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    int,
    pick: <T>(list: readonly T[]) => list[int(0, list.length - 1)] as T,
    weighted: <K extends string>(weights: Record<K, number>) => weightedOf(weights, next()),
    fork: (name) => seeded(`${seed} ${name}`),
  };
}

function weightedOf<K extends string>(weights: Record<K, number>, at: number): K {
  const entries = Object.entries<number>(weights) as [K, number][];
  let left = at * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of entries) {
    left -= weight;
    if (left < 0) return name;
  }
  throw new Error("no weights");
}

/** FNV-1a over the characters. */
const hashOf = (text: string): number =>
  [...text].reduce((hash, char) => Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16777619), 0x811c9dc5);
