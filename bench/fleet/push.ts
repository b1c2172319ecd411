import { setTimeout as delay } from "node:timers/promises";
import type { ProcessView } from "#shared/api/process.ts";
import type { Client } from "../client.ts";
import type { Result } from "../figure.ts";
import { quantile } from "../statistics.ts";
import type { Fleet } from "./fleet.ts";
import { monotonicMs } from "./monotonic.ts";

const starts = 500;
const pauseMs = 20;

/** How long a start takes from its request to its agent, while all others are idle. */
export async function push(fleet: Fleet): Promise<Result[]> {
  const taken: number[] = [];
  for (let left = fleet.bench.times(starts, 50); left > 0; left--) {
    taken.push(await startMs(fleet, fleet.controlPlane.client));
    await delay(pauseMs);
  }
  return [
    { name: "request to start frame p50", value: quantile(taken, 0.5), unit: "ms" },
    { name: "request to start frame p99", value: quantile(taken, 0.99), unit: "ms", goal: { atMost: 50 } },
  ];
}

/** From the request at this control plane to the arrival of its start at the agent of any node, in ms. */
export async function startMs({ identities, crews }: Fleet, client: Client): Promise<number> {
  const node = identities[Math.floor(Math.random() * identities.length)]?.nodeId;
  const from = monotonicMs();
  const { id } = await client.post<ProcessView>("/v1/processes", { node, command: "hostname" });
  return (await crews.arrival(id)) - from;
}
