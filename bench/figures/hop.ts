import { join } from "node:path";
import { denoControlPlane, denoEnv } from "../../test/support/deno.ts";
import type { Bench, Figure, Result } from "../figure.ts";
import { interleave, timed } from "../interleave.ts";
import type { ControlPlane, Product } from "../product.ts";
import { median, quantile } from "../statistics.ts";

const pairs = 500;
const warmUps = 50;

const deno = { name: "Deno", program: denoControlPlane(["--allow-all"]), env: denoEnv, atMost: 1.2 };
const workerMain = join(import.meta.dirname, "../worker-main.ts");
const workerd = { name: "workerd", program: [process.execPath, workerMain], env: {}, atMost: 4 };

/** How long a request takes that its node answers without starting anything: other runtimes beside Node, one after the other. */
export const hop: Figure = {
  name: "hop",
  take: async (bench) => [...(await beside(bench, deno)), ...(await beside(bench, workerd))],
};

type Other = ControlPlane & { name: string; atMost: number };

async function beside(bench: Bench, { name, atMost, ...controlPlane }: Other): Promise<Result[]> {
  const there = await bench.fresh(controlPlane);
  const other = await asking(there);
  const node = await asking(await bench.shared());
  await interleave(bench.times(warmUps), other, node);
  const { ours, theirs } = await interleave(bench.times(pairs, 5), other, node);
  await there.close();
  return [
    { name: "output of a running process on Node, p50", value: median(theirs), unit: "ms" },
    { name: "output of a running process on Node, p99", value: quantile(theirs, 0.99), unit: "ms" },
    { name: `the same on ${name}, p50`, value: median(ours), unit: "ms" },
    { name: `the same on ${name}, p99`, value: quantile(ours, 0.99), unit: "ms" },
    { name: `${name} p50 / Node p50`, value: median(ours) / median(theirs), unit: "x", goal: { atMost } },
  ];
}

/** Asks for the output of a process that runs, which nobody but its node has. */
async function asking({ client, start }: Product): Promise<() => Promise<number>> {
  const { id } = await start({ command: "echo here; sleep 3600" });
  const path = `/v1/processes/${id}/output`;
  const text = async (): Promise<string> => (await client.get<{ text: string }>(path)).text;
  while ((await text()) !== "here\n");
  return () => timed(text);
}
