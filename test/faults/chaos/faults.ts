import { setTimeout as pause } from "node:timers/promises";
import type { Proxy } from "../../support/proxy.ts";
import type { Agent, ControlPlane, Fleet } from "./fleet.ts";
import { faultKinds, type Fault, type FaultKind } from "./schedule.ts";

export type FaultCounts = Record<FaultKind, { done: number; skipped: number }>;

/** Lets faults happen at their times until the signal aborts; then everything is healed and runs. */
export async function letHappen(fleet: Fleet, faults: Fault[], signal: AbortSignal): Promise<FaultCounts> {
  const counts = Object.fromEntries(faultKinds.map((kind) => [kind, { done: 0, skipped: 0 }])) as FaultCounts;
  const busy = new Set<string>();
  const began = performance.now();
  const happen = async (fault: Fault): Promise<void> => {
    await during(fault.atMs - (performance.now() - began), signal);
    // One break of a thing at a time: what is down can not be killed.
    if (signal.aborted || busy.has(fault.target)) return void (counts[fault.kind].skipped += 1);
    busy.add(fault.target);
    await breakIt(fleet, fault, signal);
    busy.delete(fault.target);
    counts[fault.kind].done += 1;
  };
  await Promise.all(faults.map(happen));
  return counts;
}

/** A pause that ends early with the storm. */
const during = async (ms: number, signal: AbortSignal): Promise<void> => {
  if (ms > 0) await pause(ms, undefined, { signal }).catch(() => undefined);
};

async function breakIt(fleet: Fleet, fault: Fault, signal: AbortSignal): Promise<void> {
  const wait = (): Promise<void> => during(fault.forMs, signal);
  switch (fault.kind) {
    case "agent killed":
      return agentDown(agentOf(fleet, fault.target), "SIGKILL", wait);
    case "agent stopped":
      return agentDown(agentOf(fleet, fault.target), "SIGTERM", wait);
    case "control plane killed":
      return controlPlaneDown(fleet, fault.target, "SIGKILL", wait);
    case "control plane stopped":
      return controlPlaneDown(fleet, fault.target, "SIGTERM", wait);
    case "database killed":
      await fleet.database.kill();
      await wait();
      return fleet.database.start();
    default:
      await breakLine(lineOf(fleet, fault.target), fault, wait);
  }
}

type Wait = () => Promise<void>;

async function agentDown({ kept }: Agent, signal: NodeJS.Signals, wait: Wait): Promise<void> {
  await kept.down(signal);
  await wait();
  kept.up();
}

/** Its agents find another one if there is one; they stay there. */
async function controlPlaneDown(
  fleet: Fleet,
  name: string,
  signal: NodeJS.Signals,
  wait: Wait,
): Promise<void> {
  const { kept } = controlPlaneOf(fleet, name);
  const down = kept.down(signal);
  const others = fleet.controlPlanes.filter((other) => other.name !== name);
  for (const [n, agent] of fleet.agents.filter(({ home }) => home.name === name).entries()) {
    agent.home = others[n % others.length] ?? agent.home;
    agent.line.target = agent.home.port;
  }
  await down;
  await wait();
  kept.up();
}

async function breakLine(line: Proxy, fault: Fault, wait: Wait): Promise<void> {
  if (fault.kind === "line cut") return line.cut();
  if (fault.kind === "line blackholed") line.blackhole();
  if (fault.kind === "line half open") line.blackhole(fault.amount === 0 ? "up" : "down");
  if (fault.kind === "line slow") line.delayMs = fault.amount;
  if (fault.kind === "line closed after bytes") line.closeAfter(fault.amount);
  await wait();
  line.delayMs = 0;
  line.heal();
}

const agentOf = (fleet: Fleet, name: string): Agent => known(fleet.agents.find((one) => one.name === name));
const controlPlaneOf = (fleet: Fleet, name: string): ControlPlane =>
  known(fleet.controlPlanes.find((one) => one.name === name));
const lineOf = (fleet: Fleet, name: string): Proxy => known(fleet.lines.get(name));

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new Error("there is no such target");
  return found;
}
