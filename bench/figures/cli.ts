import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Figure } from "../figure.ts";
import { interleave, timed } from "../interleave.ts";
import { plainSpawn } from "../plain-spawn.ts";
import { median } from "../statistics.ts";

const pairs = 30;
const run = promisify(execFile);

/** How long `drover exec -- true` takes, most of it the start of Node. */
export const cli: Figure = {
  name: "cli",
  async take(bench) {
    const { bin, env } = await bench.shared();
    const ours = (): Promise<number> =>
      timed(() => run(process.execPath, [bin, "exec", "--", "true"], { env, timeout: 60_000 }));
    const theirs = (): Promise<number> => timed(() => plainSpawn(process.execPath, ["-e", "0"]));
    await interleave(bench.times(2), ours, theirs);
    const taken = await interleave(bench.times(pairs, 3), ours, theirs);
    return [
      { name: "drover exec -- true, p50", value: median(taken.ours), unit: "ms" },
      { name: "node -e 0, p50", value: median(taken.theirs), unit: "ms" },
      {
        name: "drover exec p50 / node -e 0 p50",
        value: median(taken.ours) / median(taken.theirs),
        unit: "x",
      },
    ];
  },
};
