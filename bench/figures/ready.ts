import { rm } from "node:fs/promises";
import { join } from "node:path";
import { denoControlPlane, denoEnv } from "../../test/support/deno.ts";
import type { Bench, Figure, Result } from "../figure.ts";
import { inTurns, timed } from "../interleave.ts";
import { plainSpawn } from "../plain-spawn.ts";
import { memoryMb } from "../proc.ts";
import { environment } from "../product.ts";
import { Program, type ProgramOptions } from "../program.ts";
import { median } from "../statistics.ts";

const repeats = 10;
const warmUps = 2;
const readyWithinMs = 60_000;
const stopWithinMs = 20_000;
const bin = join(import.meta.dirname, "../../bin/drover.js");

type Ready = { ms: number; mb: number };

/** How soon a control plane answers whose database is there already, and its memory then: the bundle, and the sources. */
export const ready: Figure = {
  name: "ready",
  async take(bench) {
    const folder = await bench.folder("ready");
    const env = environment(folder);
    const ways = {
      nothing: async () => ({ ms: await timed(() => plainSpawn(process.execPath, ["-e", "0"])), mb: 0 }),
      bundle: () => readyOnce(bench, ["serve"], { bin: bench.bin, env }),
      sources: () => readyOnce(bench, ["serve"], { bin, env: { ...env, DROVER_SOURCE: "1" } }),
      deno: () =>
        readyOnce(bench, [], {
          bin,
          env: { ...env, ...denoEnv },
          program: denoControlPlane(["--allow-all"]),
        }),
    };
    // The first one makes the database, the first of each kind fills the caches of its runtime.
    await inTurns(warmUps, ways);
    const taken = await inTurns(bench.times(repeats), ways);
    await rm(folder, { recursive: true, force: true });
    return [
      { name: "node -e 0, p50", value: median(taken.nothing.map(({ ms }) => ms)), unit: "ms" },
      ...results("the bundle on Node", taken.bundle, { ms: 800, mb: 100 }),
      ...results("the sources on Node", taken.sources),
      ...results("the sources on Deno", taken.deno, { ms: 800 }),
    ];
  },
};

const results = (name: string, taken: Ready[], goals: { ms?: number; mb?: number } = {}): Result[] => [
  {
    name: `${name}: /readyz after, p50`,
    value: median(taken.map(({ ms }) => ms)),
    unit: "ms",
    ...(goals.ms === undefined ? {} : { goal: { atMost: goals.ms } }),
  },
  {
    name: `${name}: resident then`,
    value: median(taken.map(({ mb }) => mb)),
    unit: "MB",
    ...(goals.mb === undefined ? {} : { goal: { atMost: goals.mb } }),
  },
];

async function readyOnce(bench: Bench, words: string[], options: ProgramOptions): Promise<Ready> {
  const from = performance.now();
  const program = new Program(words, options);
  const close = (): Promise<void> => program.stop(stopWithinMs);
  await bench.own(Promise.resolve({ close }));
  const [, url] = await program.seen(/listens on (http:\S+)/, readyWithinMs);
  const { ok } = await fetch(`${url}/readyz`);
  if (!ok) throw new Error("it listens and is not ready");
  const ms = performance.now() - from;
  const { now: mb } = await memoryMb(program.pid);
  await close();
  return { ms, mb };
}
