import type { Random } from "./random.ts";

/** How often a kind of fault happens, compared with the others. */
const weights = {
  "agent killed": 5,
  "agent stopped": 1,
  "control plane killed": 3,
  "control plane stopped": 1,
  "database killed": 1.5,
  "line cut": 5,
  "line blackholed": 2.5,
  "line half open": 2.5,
  "line slow": 2.5,
  "line closed after bytes": 4,
};
export type FaultKind = keyof typeof weights;
export const faultKinds = Object.keys(weights) as FaultKind[];

/** `amount` is what its kind makes of it: bytes, ms of delay, or which direction has the hole. */
export type Fault = { kind: FaultKind; target: string; atMs: number; forMs: number; amount: number };

/** What can be broken, by name. */
export type Targets = { agents: string[]; controlPlanes: string[]; database: string; lines: string[] };

/** A line of an agent is silent for longer than both ends bear now and then. */
const longSilence = { oneIn: 6, fromMs: 31_000, toMs: 45_000 };

/** Faults in the order of their time: random kinds on random targets, `pauseMs` apart on average, overlapping as it comes. */
export function schedule(
  random: Random,
  targets: Targets,
  { stormMs, pauseMs }: { stormMs: number; pauseMs: number },
): Fault[] {
  const faults: Fault[] = [];
  for (let atMs = 1000; ;) {
    atMs += Math.round(-Math.log(1 - random.next()) * pauseMs);
    if (atMs > stormMs - 1000) return faults;
    faults.push(faultAt(random, targets, atMs));
  }
}

function faultAt(random: Random, targets: Targets, atMs: number): Fault {
  const kind = random.weighted(weights);
  const target = random.pick(targetsOf(kind, targets));
  return { kind, target, atMs, forMs: durationOf(kind, target, random), amount: amountOf(kind, random) };
}

function targetsOf(kind: FaultKind, targets: Targets): string[] {
  if (kind.startsWith("agent")) return targets.agents;
  if (kind.startsWith("control plane")) return targets.controlPlanes;
  return kind.startsWith("database") ? [targets.database] : targets.lines;
}

function durationOf(kind: FaultKind, target: string, random: Random): number {
  if (kind === "line cut") return 0;
  const isSilent = kind === "line blackholed" || kind === "line half open";
  if (isSilent && target.startsWith("agent") && random.int(1, longSilence.oneIn) === 1)
    return random.int(longSilence.fromMs, longSilence.toMs);
  return isSilent ? random.int(300, 5000) : random.int(50, 2500);
}

function amountOf(kind: FaultKind, random: Random): number {
  if (kind === "line slow") return random.int(20, 500);
  // Below one frame, within some, and beyond the window of a follower.
  if (kind === "line closed after bytes") return Math.round(10 ** (1 + 5 * random.next()));
  return random.int(0, 1);
}
