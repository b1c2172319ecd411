import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Result } from "../figure.ts";
import { cpuMs } from "../proc.ts";
import { quantile } from "../statistics.ts";
import type { Tally } from "./crew-main.ts";
import type { Fleet } from "./fleet.ts";
import { inspect } from "./inspector.ts";
import { monotonicMs } from "./monotonic.ts";

const backWithinMs = 180_000;
/** A session of the database tells of its commits this late at most. */
const commitsToldMs = 1500;

/** Kills the control plane, starts it again at once, and watches its agents come back. */
export async function storm(fleet: Fleet): Promise<Result[]> {
  const { bench, controlPlane, database, crews } = fleet;
  const { cpuMs: crewsMs } = await crews.tally();
  const before = { commits: await database.commits(), databaseMs: await database.cpuMs() };
  const killedAt = monotonicMs();
  await controlPlane.kill();
  await controlPlane.restart();
  const listening = monotonicMs() - killedAt;
  const tally = await watched(fleet, () => crews.allLive(backWithinMs));
  const serverMs = await cpuMs(controlPlane.pid());
  const databaseMs = (await database.cpuMs()) - before.databaseMs;
  await delay(commitsToldMs);
  bench.note(`attempts that failed: ${JSON.stringify(tally.endings)}`);
  const back = tally.liveAt.map((at) => (at - killedAt) / 1000);
  const seconds = Math.max(...back);
  const commits = (await database.commits()) - before.commits;
  return [
    { name: "after kill -9 it listens again", value: listening / 1000, unit: "s" },
    { name: "half of the agents are back", value: quantile(back, 0.5), unit: "s" },
    { name: "all agents are back", value: seconds, unit: "s", goal: { atMost: 45 } },
    { name: "attempts to connect", value: tally.attemptsAt.length, unit: "" },
    { name: "attempts in the busiest second", value: mostASecond(tally.attemptsAt), unit: "/s" },
    { name: "welcomes in the busiest second", value: mostASecond(tally.liveAt), unit: "/s" },
    { name: "CPU of the control plane until then", value: serverMs / 1000, unit: "s" },
    { name: "CPU of the database until then", value: databaseMs / 1000, unit: "s" },
    { name: "CPU of the simulated agents until then", value: (tally.cpuMs - crewsMs) / 1000, unit: "s" },
    { name: "commits until then", value: commits / seconds, unit: "/s" },
    { name: "commits an agent", value: commits / crews.size, unit: "" },
  ];
}

async function watched({ bench, controlPlane }: Fleet, work: () => Promise<Tally>): Promise<Tally> {
  if (bench.profile === undefined) return work();
  const file = join(bench.profile, "fleet-storm.cpuprofile");
  let tally: Tally | undefined;
  await inspect(controlPlane.inspectorUrl(), (inspector) =>
    inspector.profile(file, async () => void (tally = await work())),
  );
  if (tally === undefined) throw new Error("the storm was not watched");
  return tally;
}

function mostASecond(times: number[]): number {
  const counts = new Map<number, number>();
  for (const at of times) counts.set(Math.floor(at / 1000), (counts.get(Math.floor(at / 1000)) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}
