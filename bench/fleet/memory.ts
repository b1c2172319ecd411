import { setTimeout as delay } from "node:timers/promises";
import type { Result } from "../figure.ts";
import { cpuMs, memoryMb } from "../proc.ts";
import type { ControlPlane } from "./control-plane.ts";
import { boarded, type Fleet } from "./fleet.ts";
import { inspect } from "./inspector.ts";

const settleMs = 3000;
const kbAMb = 1000;

type Memory = { residentMb: number; heapMb: number; externalMb: number };

/** Lets the agents connect, and what each of them costs the control plane. */
export async function connectAndWeigh(
  ashore: Omit<Fleet, "crews">,
): Promise<{ fleet: Fleet; results: Result[] }> {
  const before = await weigh(ashore.controlPlane);
  const cpuBefore = await cpuMs(ashore.controlPlane.pid());
  const fleet = await boarded(ashore);
  const connectMs = ((await cpuMs(fleet.controlPlane.pid())) - cpuBefore) / fleet.crews.size;
  const after = await weigh(fleet.controlPlane);
  const kbEach = (part: keyof Memory): number => ((after[part] - before[part]) * kbAMb) / fleet.crews.size;
  const results: Result[] = [
    { name: "agents online", value: fleet.crews.size, unit: "" },
    { name: "CPU of the control plane a connect", value: connectMs, unit: "ms" },
    { name: "resident memory a connection", value: kbEach("residentMb"), unit: "kB", goal: { atMost: 30 } },
    { name: "heap a connection", value: kbEach("heapMb"), unit: "kB" },
    { name: "buffers outside of the heap a connection", value: kbEach("externalMb"), unit: "kB" },
    { name: "resident memory with all of them", value: after.residentMb, unit: "MB" },
  ];
  return { fleet, results };
}

async function weigh(controlPlane: ControlPlane): Promise<Memory> {
  await delay(settleMs);
  const heap = await inspect(controlPlane.inspectorUrl(), (inspector) => inspector.heap());
  // The pages that the collection freed go back a moment after it.
  await delay(settleMs);
  return { ...heap, residentMb: (await memoryMb(controlPlane.pid())).now };
}
