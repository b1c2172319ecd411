import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";

// The suite plays the same cases each time; `npm run fuzz` plays others, as many as DROVER_FUZZ_RUNS says.
const seed = Number(process.env["DROVER_FUZZ_SEED"] ?? 20_261_130);
const factor = Number(process.env["DROVER_FUZZ_FACTOR"] ?? 1);

/** For a test that plays more cases than the suite does. */
export const fuzzTimeoutMs = 60_000 * Math.max(1, factor);

/** Tries cases until one fails, and makes that one small; the seed is printed. */
export const fuzz = async <T>(
  cases: fc.Arbitrary<T>,
  { runs, tryOne }: { runs: number; tryOne: (one: T) => Promise<void> },
): Promise<void> => {
  console.log(`DROVER_FUZZ_SEED=${seed} DROVER_FUZZ_FACTOR=${factor}`);
  const property = fc.asyncProperty(cases, async (one) => {
    await tryOne(one);
  });
  await fc.assert(property, { seed, numRuns: Math.ceil(runs * factor), endOnFailure: false });
};

/** Some cases of the seed, the same each time. */
export const sampled = <T>(cases: fc.Arbitrary<T>, count: number): T[] =>
  fc.sample(cases, { seed, numRuns: count });

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes that live after all that can be collected was. */
export const heapBytes = (): number => {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
};
