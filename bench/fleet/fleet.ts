// What the measures of a fleet share: a database, a control plane on it, and agents of which each has its socket.

import type { Bench } from "../figure.ts";
import { startControlPlane, type ControlPlane } from "./control-plane.ts";
import { Crews } from "./crews.ts";
import { startDatabase, type SharedDatabase } from "./database.ts";
import { enrol } from "./enrol.ts";
import type { Identity } from "./simulated-agent.ts";

export type Fleet = {
  bench: Bench;
  database: SharedDatabase;
  controlPlane: ControlPlane;
  identities: Identity[];
  crews: Crews;
  /** Another control plane on the same database. */
  second(): Promise<ControlPlane>;
};

/** How many nodes a fan-out goes to. */
export const fanOutNodes = 1000;

/** A control plane that knows its nodes, of which none is online. */
export async function enrolledFleet(bench: Bench): Promise<Omit<Fleet, "crews">> {
  const database = await bench.own(startDatabase(await bench.folder("fleet-database")));
  const plane = async (name: string): Promise<ControlPlane> =>
    bench.own(
      startControlPlane({ bin: bench.bin, folder: await bench.folder(name), databaseUrl: database.url }),
    );
  const controlPlane = await plane("fleet-a");
  const identities = await enrol(controlPlane.client, bench.agents, Math.min(bench.agents, fanOutNodes));
  // What enrolment left in its memory is not part of the connections'.
  await controlPlane.kill();
  await controlPlane.restart();
  return { bench, database, controlPlane, identities, second: () => plane("fleet-b") };
}

/** Lets all agents of a fleet connect. */
export async function boarded(ashore: Omit<Fleet, "crews">): Promise<Fleet> {
  const { bench, controlPlane, identities } = ashore;
  const crews = await bench.own(Promise.resolve(new Crews(identities, controlPlane)));
  await crews.allLive(boardWithinMs);
  return { ...ashore, crews };
}

const boardWithinMs = 300_000;
