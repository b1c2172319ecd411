import type { Result } from "../figure.ts";
import { interleave } from "../interleave.ts";
import { median } from "../statistics.ts";
import type { Fleet } from "./fleet.ts";
import { startMs } from "./push.ts";

const rounds = 300;

/** What a start takes longer when its request goes to another control plane than its agent is connected to. */
export async function pair(fleet: Fleet): Promise<Result[]> {
  const other = await fleet.second();
  const far = (): Promise<number> => startMs(fleet, other.client);
  const near = (): Promise<number> => startMs(fleet, fleet.controlPlane.client);
  await interleave(5, far, near);
  const taken = await interleave(fleet.bench.times(rounds, 30), far, near);
  return [
    { name: "start by the agent's own control plane p50", value: median(taken.theirs), unit: "ms" },
    { name: "start by another control plane p50", value: median(taken.ours), unit: "ms" },
    { name: "added by the way between them", value: median(taken.ours) - median(taken.theirs), unit: "ms" },
  ];
}
