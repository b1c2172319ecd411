// A storm from its beginning to its verdict: the product comes up, is put under load, and breaks by schedule; then all is
// healed, and once everything has come to rest it is told what went wrong. Whatever happens, nothing of it is left.
import { setTimeout as pause } from "node:timers/promises";
import { goodClient, type Caller } from "./client.ts";
import { letHappen, type FaultCounts } from "./faults.ts";
import type { Problem } from "./findings.ts";
import { Fleet } from "./fleet.ts";
import { putUnderLoad } from "./load.ts";
import type { ChaosOptions } from "./options.ts";
import { seeded } from "./random.ts";
import { schedule } from "./schedule.ts";
import { isAtRest, judge, type Verdict } from "./verdict.ts";

export type Outcome = {
  verdict: Verdict;
  faults: FaultCounts;
  problems: Problem[];
  counts: Map<string, number>;
  settledMs: number;
};

const judgeWithinMs = 600_000;

type Storming = { fleet: Fleet; options: ChaosOptions; signal: AbortSignal };

/** Goes through one storm; throws what the signal says when it aborts. */
export async function storm(options: ChaosOptions, signal: AbortSignal): Promise<Outcome> {
  const fleet = new Fleet(options);
  const over = new AbortController();
  const ending = AbortSignal.any([signal, over.signal]);
  try {
    await fleet.start();
    return await unlessAborted(signal, goThrough({ fleet, options, signal: ending }));
  } finally {
    over.abort();
    await fleet.close();
  }
}

async function goThrough({ fleet, options, signal }: Storming): Promise<Outcome> {
  const random = seeded(String(options.seed));
  const caller = goodClient(fleet);
  await enrol(fleet, caller, { count: options.agents, inFlight: options.inFlight, signal });
  const stormEnds = AbortSignal.any([signal, AbortSignal.timeout(options.stormMs)]);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(options.stormMs + options.settleMs)]);
  const faults = schedule(random.fork("faults"), targetsOf(fleet), options);
  const load = { fleet, caller, random: random.fork("load"), storm: stormEnds, limit };
  const happening = letHappen(fleet, faults, stormEnds);
  const loading = putUnderLoad(load, options.inFlight);
  const counts = await happening;
  const healedAt = performance.now();
  const starts = await loading;
  while (!limit.aborted && !(await isAtRest({ fleet, caller, signal }))) await pause(300);
  const settledMs = performance.now() - healedAt;
  const patience = AbortSignal.any([signal, AbortSignal.timeout(judgeWithinMs)]);
  const verdict = await judge({ fleet, caller, starts, signal: patience });
  const { problems, counts: found } = fleet.findings;
  return { verdict, faults: counts, problems, counts: found, settledMs };
}

/** The last agent has few places, so that starts wait for one. */
async function enrol(
  fleet: Fleet,
  caller: Caller,
  { count, inFlight, signal }: { count: number; inFlight: number; signal: AbortSignal },
): Promise<void> {
  for (let n = 1; n <= count; n++) {
    const name = `n${n}`;
    const body = { nodeName: name };
    const made = await caller.ask<{ token: string }>("POST", "/v1/join-tokens", { body, signal });
    if (!made?.ok) throw new Error(`no join token: ${JSON.stringify(made)}`);
    const isSmall = count > 1 && n === count;
    await fleet.addAgent(name, made.value.token, isSmall ? Math.ceil(inFlight / count / 2) : 2 * inFlight);
  }
}

const targetsOf = (fleet: Fleet) => ({
  agents: fleet.agents.map(({ name }) => name),
  controlPlanes: fleet.controlPlanes.map(({ name }) => name),
  database: "database",
  lines: [...fleet.lines.keys()],
});

/** The work, or a failure as soon as the signal aborts: what hangs is ended by closing the fleet. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error("interrupted", { cause: signal.reason }));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject);
  });
}
