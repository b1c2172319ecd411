import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Figure } from "../figure.ts";
import { interleave } from "../interleave.ts";
import { plainSpawn } from "../plain-spawn.ts";
import { cpuMs, forgetPeak, memoryMb } from "../proc.ts";
import type { Product } from "../product.ts";
import { median } from "../statistics.ts";

// The producer times itself and says what it cost: the same command on both sides, whose first line is when it began
// and whose last ones are when it ended and the CPU time of the shell's children.
const numbers = 50_000_000;
const repeats = 5;
const endBytes = 4096;
const command = (count: number): string => `date +%s%N; seq 1 ${count}; date +%s%N; times`;

type Run = { ms: number; cpuMs: number; agentCpuMs: number; agentMb: number };

/** How fast a program writes while it is recorded, beside the same program writing to a file. */
export const producer: Figure = {
  name: "producer",
  async take(bench) {
    const product = await bench.shared();
    const file = join(await bench.folder("producer"), "out");
    const text = command(bench.times(numbers));
    const { ours, theirs } = await interleave(
      bench.times(repeats),
      () => recorded(product, text),
      () => toFile(file, text),
    );
    const speeds = ours.map((run, round) => (theirs[round]?.ms ?? Number.NaN) / run.ms);
    const shares = ours.map((run) => (100 * run.agentCpuMs) / run.cpuMs);
    return [
      { name: "seq recorded", value: median(ours.map(({ ms }) => ms)) / 1000, unit: "s" },
      { name: "seq > file", value: median(theirs.map(({ ms }) => ms)) / 1000, unit: "s" },
      { name: "recorded speed / > file speed", value: median(speeds), unit: "x", goal: { atLeast: 0.95 } },
      { name: "agent CPU / producer CPU", value: median(shares), unit: "%", goal: { atMost: 5 } },
      {
        name: "agent memory meanwhile, highest",
        value: Math.max(...ours.map(({ agentMb }) => agentMb)),
        unit: "MB",
      },
    ];
  },
};

async function recorded(product: Product, text: string): Promise<Run> {
  await forgetPeak(product.agentPid);
  const before = await cpuMs(product.agentPid);
  const { result } = await product.exec({ command: text });
  const agentCpuMs = (await cpuMs(product.agentPid)) - before;
  return { ...said(result.text), agentCpuMs, agentMb: (await memoryMb(product.agentPid)).highest };
}

async function toFile(file: string, text: string): Promise<Run> {
  await plainSpawn("sh", ["-c", `{ ${text}; } > '${file}'`]);
  const both = said(await endsOf(file));
  await rm(file);
  return { ...both, agentCpuMs: 0, agentMb: 0 };
}

/** What the producer says of itself in the first and the last lines of its output. */
function said(text: string): { ms: number; cpuMs: number } {
  const lines = text.trimEnd().split("\n");
  const [ended, , children] = lines.slice(-3);
  return { ms: (Number(ended) - Number(lines[0])) / 1e6, cpuMs: timesMs(children ?? "") };
}

const timesMs = (line: string): number =>
  [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000,
    0,
  );

async function endsOf(path: string): Promise<string> {
  await using file = await open(path);
  const { size } = await file.stat();
  const read = async (position: number): Promise<string> =>
    (await file.read({ buffer: Buffer.alloc(endBytes), position })).buffer.toString();
  return `${await read(0)}${await read(Math.max(0, size - endBytes))}`.replaceAll("\0", "");
}
