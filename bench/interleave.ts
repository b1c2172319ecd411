// Other work on the machine comes and goes. Two things that are compared are therefore done in turn, each as often
// first as second, so that what disturbs one disturbs the other as well.

/** Takes two measures in turn, `rounds` times each; the nth values of both were taken one right after the other. */
export async function interleave<T>(
  rounds: number,
  ours: () => Promise<T>,
  theirs: () => Promise<T>,
): Promise<{ ours: T[]; theirs: T[] }> {
  return inTurns(rounds, { ours, theirs });
}

/** Takes any number of measures in turn, by name; who is first moves on with each round. */
export async function inTurns<Name extends string, T>(
  rounds: number,
  works: Record<Name, () => Promise<T>>,
): Promise<Record<Name, T[]>> {
  const names = Object.keys(works) as Name[];
  const taken = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<Name, T[]>;
  for (let round = 0; round < rounds; round++) {
    const first = round % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)])
      taken[name].push(await works[name]());
  }
  return taken;
}

/** How long this takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
