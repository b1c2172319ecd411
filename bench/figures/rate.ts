import type { Figure } from "../figure.ts";
import { concurrently } from "../concurrently.ts";
import { interleave, timed } from "../interleave.ts";
import { plainSpawn } from "../plain-spawn.ts";
import { median } from "../statistics.ts";

const width = 8;
const rounds = 7;
const batch = 240;

/** How many processes a second go through, eight at a time. */
export const rate: Figure = {
  name: "rate",
  async take(bench) {
    const product = await bench.shared();
    const count = bench.times(batch, width);
    const perSecond = async (work: () => Promise<unknown>): Promise<number> =>
      (count * 1000) / (await timed(() => concurrently(count, width, async () => void (await work()))));
    const ours = (): Promise<number> => perSecond(() => product.exec({ command: "true" }));
    const theirs = (): Promise<number> => perSecond(() => plainSpawn("sh", ["-c", "true"]));
    await interleave(1, ours, theirs);
    const taken = await interleave(bench.times(rounds), ours, theirs);
    const ratios = taken.ours.map((value, round) => value / (taken.theirs[round] ?? Number.NaN));
    return [
      { name: `REST exec, ${width} at a time`, value: median(taken.ours), unit: "/s" },
      { name: `node's spawn, ${width} at a time`, value: median(taken.theirs), unit: "/s" },
      { name: "exec rate / spawn rate", value: median(ratios), unit: "x", goal: { atLeast: 0.35 } },
    ];
  },
};
