import { setTimeout as delay } from "node:timers/promises";
import { concurrently } from "../concurrently.ts";
import type { Bench, Figure } from "../figure.ts";
import { timed } from "../interleave.ts";
import { cpuMs, forgetPeak, memoryMb } from "../proc.ts";
import type { Product } from "../product.ts";
import { expected, soakCommand } from "../soak-command.ts";

const processes = 2000;
const width = 16;
const idleMs = 3000;
const calmWithinMs = 30_000;
const shownWrong = 10;

/** Many processes of every kind of ending: all of them true, and nothing grows. */
export const soak: Figure = {
  name: "soak",
  async take(bench) {
    const product = await bench.fresh();
    const idle = await idleState(product);
    await forgetPeak(product.agentPid);
    const count = bench.times(processes, 20);
    const wrong: string[] = [];
    const ms = await timed(() =>
      concurrently(count, width, async (index) => void wrong.push(...(await faults(product, index)))),
    );
    const { highest } = await memoryMb(product.agentPid);
    const connections = await calmConnections(product, idle.connections);
    tellWrong(bench, wrong);
    return [
      { name: `endings that are wrong, of ${count}`, value: wrong.length, unit: "", goal: { atMost: 0 } },
      { name: "processes a second", value: (count * 1000) / ms, unit: "/s" },
      { name: "agent memory idle", value: idle.mb, unit: "MB" },
      { name: "agent memory at its highest", value: highest, unit: "MB", goal: { atMost: 85 } },
      { name: "agent memory above idle", value: highest - idle.mb, unit: "MB", goal: { atMost: 20 } },
      {
        name: "agent CPU a process",
        value: ((await cpuMs(product.agentPid)) - idle.cpuMs) / count,
        unit: "ms",
      },
      {
        name: `database connections, ${idle.connections} before`,
        value: connections,
        unit: "",
        goal: { atMost: idle.connections },
      },
    ];
  },
};

async function idleState(product: Product): Promise<{ mb: number; connections: number; cpuMs: number }> {
  await delay(idleMs);
  const { now } = await memoryMb(product.agentPid);
  return { mb: now, connections: await product.databaseConnections(), cpuMs: await cpuMs(product.agentPid) };
}

async function faults(product: Product, index: number): Promise<string[]> {
  const answer = await product.exec(soakCommand(index));
  const { status, reason, exitCode, signal, output } = answer;
  const seen = JSON.stringify({ status, reason, exitCode, signal, bytes: output.totalBytes });
  const wanted = JSON.stringify(expected(index));
  return seen === wanted ? [] : [`process ${index} (${answer.id}): ${seen} instead of ${wanted}`];
}

// Connections may stay open for a while before the pool lets them go.
async function calmConnections(product: Product, before: number): Promise<number> {
  const deadline = performance.now() + calmWithinMs;
  for (;;) {
    const open = await product.databaseConnections();
    if (open <= before || performance.now() > deadline) return open;
    await delay(250);
  }
}

function tellWrong(bench: Bench, wrong: string[]): void {
  for (const line of wrong.slice(0, shownWrong)) bench.note(line);
  if (wrong.length > shownWrong) bench.note(`… and ${wrong.length - shownWrong} more`);
}
