import { denoControlPlane, denoEnv } from "../../test/support/deno.ts";
import type { Figure } from "../figure.ts";
import { interleave, timed } from "../interleave.ts";
import type { Product } from "../product.ts";
import { median, quantile } from "../statistics.ts";

const pairs = 500;
const warmUps = 50;

/** How long a request takes that its node answers without starting anything: the control plane on Deno beside the one on Node. */
export const hop: Figure = {
  name: "hop",
  async take(bench) {
    const onDeno = await bench.fresh({ program: denoControlPlane(["--allow-all"]), env: denoEnv });
    const deno = await asking(onDeno);
    const node = await asking(await bench.shared());
    await interleave(bench.times(warmUps), deno, node);
    const { ours, theirs } = await interleave(bench.times(pairs, 5), deno, node);
    await onDeno.close();
    return [
      { name: "output of a running process on Node, p50", value: median(theirs), unit: "ms" },
      { name: "output of a running process on Node, p99", value: quantile(theirs, 0.99), unit: "ms" },
      { name: "the same on Deno, p50", value: median(ours), unit: "ms" },
      { name: "the same on Deno, p99", value: quantile(ours, 0.99), unit: "ms" },
      { name: "Deno p50 / Node p50", value: median(ours) / median(theirs), unit: "x", goal: { atMost: 1.2 } },
    ];
  },
};

/** Asks for the output of a process that runs, which nobody but its node has. */
async function asking({ client, start }: Product): Promise<() => Promise<number>> {
  const { id } = await start({ command: "echo here; sleep 3600" });
  const path = `/v1/processes/${id}/output`;
  const text = async (): Promise<string> => (await client.get<{ text: string }>(path)).text;
  while ((await text()) !== "here\n");
  return () => timed(text);
}
