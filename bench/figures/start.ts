import type { Bench, Figure } from "../figure.ts";
import { median } from "../statistics.ts";

const repeats = 3;

type Start = { listening: number; online: number; output: number };

/** How long it takes from the first program with empty data folders to the first output of a process. */
export const start: Figure = {
  name: "start",
  async take(bench) {
    const starts: Start[] = [];
    for (let round = 0; round < bench.times(repeats); round++) starts.push(await startOnce(bench));
    const value = (pick: (start: Start) => number): number => median(starts.map(pick)) / 1000;
    return [
      { name: "drover serve listens after", value: value(({ listening }) => listening), unit: "s" },
      { name: "the agent is online after", value: value(({ online }) => online), unit: "s" },
      { name: "first output after", value: value(({ output }) => output), unit: "s", goal: { atMost: 20 } },
    ];
  },
};

async function startOnce(bench: Bench): Promise<Start> {
  const from = performance.now();
  const product = await bench.fresh();
  const { result } = await product.exec({ command: "echo here" });
  if (result.text !== "here\n") throw new Error(`the first output is ${JSON.stringify(result.text)}`);
  const output = performance.now() - from;
  await product.close();
  return { ...product.startedMs, output };
}
