// Other work on the machine comes and goes. Two things that are compared are therefore done in turn, each as often
// first as second, so that what disturbs one disturbs the other as well.

/** Takes two measures in turn, `rounds` times each; the nth values of both were taken one right after the other. */
export async function interleave<T>(
  rounds: number,
  ours: () => Promise<T>,
  theirs: () => Promise<T>,
): Promise<{ ours: T[]; theirs: T[] }> {
  const taken: { ours: T[]; theirs: T[] } = { ours: [], theirs: [] };
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) taken.ours.push(await ours());
    taken.theirs.push(await theirs());
    if (round % 2 === 1) taken.ours.push(await ours());
  }
  return taken;
}

/** How long this takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
