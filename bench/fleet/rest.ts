import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { loadEveryMs } from "#shared/link/limits.ts";
import type { Result } from "../figure.ts";
import { timed } from "../interleave.ts";
import { cpuMs } from "../proc.ts";
import { quantile } from "../statistics.ts";
import type { Fleet } from "./fleet.ts";
import { inspect } from "./inspector.ts";

/** In which each agent says what it says at rest, and is answered once. All connected within seconds, so what they say comes in waves. */
const cycleMs = loadEveryMs;
const cycles = 2;
/** What many connections at once, and a heap that was emptied to be weighed, cost afterwards is not rest. */
const settleMs = 60_000;

/** What a fleet costs that only pings and tells its load. */
export async function rest(fleet: Fleet): Promise<Result[]> {
  await delay(fleet.bench.times(settleMs, 0));
  const before = await counters(fleet);
  const ms = await timed(() => calm(fleet));
  const after = await counters(fleet);
  const share = (name: "serverMs" | "databaseMs" | "crewsMs"): number =>
    (100 * (after[name] - before[name])) / ms;
  return [
    { name: "CPU of the control plane at rest", value: share("serverMs"), unit: "%", goal: { atMost: 10 } },
    { name: "CPU of the database at rest", value: share("databaseMs"), unit: "%" },
    { name: "CPU of the simulated agents at rest", value: share("crewsMs"), unit: "%" },
    { name: "commits at rest", value: ((after.commits - before.commits) * 1000) / ms, unit: "/s" },
    { name: "ping to pong p50", value: quantile(after.pongMs, 0.5), unit: "ms" },
    { name: "ping to pong p99", value: quantile(after.pongMs, 0.99), unit: "ms" },
  ];
}

async function counters({ controlPlane, database, crews }: Fleet) {
  const { cpuMs: crewsMs, pongMs } = await crews.tally();
  const [serverMs, databaseMs] = await Promise.all([cpuMs(controlPlane.pid()), database.cpuMs()]);
  return { serverMs, databaseMs, crewsMs, pongMs, commits: await database.commits() };
}

async function calm({ bench, controlPlane }: Fleet): Promise<void> {
  const wait = (): Promise<void> => delay(bench.times(cycles, 1) * cycleMs);
  const { profile } = bench;
  if (profile === undefined) return wait();
  const file = join(profile, "fleet-at-rest.cpuprofile");
  await inspect(controlPlane.inspectorUrl(), (inspector) => inspector.profile(file, wait));
}
