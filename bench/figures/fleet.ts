import type { Bench, Figure, Result } from "../figure.ts";
import { fanOut } from "../fleet/fan-out.ts";
import { enrolledFleet } from "../fleet/fleet.ts";
import { connectAndWeigh } from "../fleet/memory.ts";
import { pair } from "../fleet/pair.ts";
import { push } from "../fleet/push.ts";
import { rest } from "../fleet/rest.ts";
import { storm } from "../fleet/storm.ts";
import { descriptorLimit } from "../proc.ts";

const spareDescriptors = 500;

/** Many agents on one control plane: what they cost at rest, how fast they are reached, how they come back. */
export const fleet: Figure = {
  name: "fleet",
  async take(bench) {
    await requireDescriptors(bench.agents);
    const { fleet: whole, results } = await connectAndWeigh(await enrolledFleet(bench));
    results.push(...(await rest(whole)), ...(await push(whole)), ...(await storm(whole)));
    results.push(...(await ifThere(bench, "fan-out", () => fanOut(whole))));
    results.push(...(await ifThere(bench, "two control planes", () => pair(whole))));
    return results;
  },
};

async function requireDescriptors(agents: number): Promise<void> {
  const limit = await descriptorLimit();
  if (limit < agents + spareDescriptors)
    throw new Error(
      `fleet: ${agents} agents need ${agents + spareDescriptors} open files in one process, and the limit is ${limit} (ulimit -n)`,
    );
}

/** A part that this control plane does not offer is told of and left out. */
async function ifThere(bench: Bench, name: string, take: () => Promise<Result[]>): Promise<Result[]> {
  try {
    return await take();
  } catch (error) {
    if (!(error instanceof Error && /^(404|422|503): /.test(error.message))) throw error;
    bench.note(`${name}: left out, since it was answered ${error.message.slice(0, 200)}`);
    return [];
  }
}
