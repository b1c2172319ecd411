import { setTimeout as pause } from "node:timers/promises";
import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";
import type { Caller } from "./client.ts";
import { makeCommand, type Command } from "./commands.ts";
import type { Fleet } from "./fleet.ts";
import { follow, type Followed } from "./follower.ts";
import type { Random } from "./random.ts";

/** One start that was asked for. */
export type Start = {
  n: number;
  command: Command;
  ifOffline: "queue" | "fail";
  /** Known once the start was accepted: answered 200 or 201. */
  id: string | undefined;
  /** Whether a stop was sent; whether it was answered. */
  stop: "none" | "asked" | "answered";
  /** When the stop was answered, in ms since 1970. */
  stoppedAt: number | undefined;
  followed: Promise<Followed> | undefined;
};

type Plan = {
  patience: "until answered" | "one try";
  stopAfterMs: number | undefined;
  isFollowed: boolean;
  keyed: "header" | "key" | "both";
  node: string;
  ifOffline: "queue" | "fail";
};

type Load = { fleet: Fleet; caller: Caller; random: Random; storm: AbortSignal; limit: AbortSignal };

const lookMs = 5000;

/** Keeps `count` processes in flight until the storm is over, then sees those that are under way to their end. */
export async function putUnderLoad(load: Load, count: number): Promise<Start[]> {
  const starts: Start[] = [];
  const worker = async (): Promise<void> => {
    while (!load.storm.aborted) {
      const random = load.random.fork(String(starts.length));
      const command = makeCommand(random, load.fleet.effects, starts.length);
      const plan = planOf(load.fleet, random, command);
      const { ifOffline } = plan;
      const start: Start = {
        n: starts.length,
        command,
        ifOffline,
        id: undefined,
        stop: "none",
        stoppedAt: undefined,
        followed: undefined,
      };
      starts.push(start);
      await live(load, start, plan);
    }
  };
  await Promise.all(Array.from({ length: count }, worker));
  return starts;
}

function planOf(fleet: Fleet, random: Random, { kind }: Command): Plan {
  return {
    patience: random.int(1, 20) === 1 ? "one try" : "until answered",
    // Some at once, in a race with the start itself.
    stopAfterMs: kind === "stopped" ? random.pick([0, 0, 50, 500, 1500, 4000]) : undefined,
    isFollowed: kind === "stream" || random.int(1, 3) === 1,
    keyed: random.pick(["header", "key", "both"]),
    node: random.pick(fleet.agents).name,
    ifOffline: random.int(1, 3) === 1 ? "fail" : "queue",
  };
}

/** One start from its request to its final state. */
async function live(load: Load, start: Start, plan: Plan): Promise<void> {
  const made = await send(load, start, plan);
  if (made === undefined) return;
  start.id = made.id;
  const { caller, limit } = load;
  const expected = start.command.output(made.id);
  if (plan.isFollowed)
    start.followed = follow({ client: caller.client, id: made.id, expected, signal: limit });
  if (plan.stopAfterMs !== undefined) await stopAfter(load, start, plan.stopAfterMs);
  await untilFinal(load, made.id);
}

async function send(load: Load, { n, command }: Start, plan: Plan): Promise<ProcessView | undefined> {
  const key = `chaos-${n}`;
  const headers: Record<string, string> = plan.keyed === "key" ? {} : { "idempotency-key": key };
  const body = {
    ...command.body,
    ...(plan.keyed === "header" ? {} : { key }),
    node: plan.node,
    ifOffline: plan.ifOffline,
    labels: { n: String(n) },
  };
  const options = { body, headers, signal: load.limit };
  const answer =
    plan.patience === "one try"
      ? await load.caller.try<ProcessView>("POST", "/v1/processes", options)
      : await load.caller.ask<ProcessView>("POST", "/v1/processes", options);
  if (answer?.ok) return answer.value;
  if (answer !== undefined && plan.patience !== "one try")
    refused(load, `start ${n} (${command.kind})`, answer.failure);
  return undefined;
}

async function stopAfter(load: Load, start: Start, ms: number): Promise<void> {
  await pause(ms);
  start.stop = "asked";
  const path = `/v1/processes/${start.id}/stop`;
  const answer = await load.caller.ask("POST", path, { body: {}, signal: load.limit, waitMs: 15_000 });
  if (answer?.ok) Object.assign(start, { stop: "answered", stoppedAt: Date.now() });
  else if (answer !== undefined) refused(load, `stop of ${start.id}`, answer.failure);
}

async function untilFinal(load: Load, id: string): Promise<void> {
  const look = { query: { waitMs: lookMs }, waitMs: lookMs, signal: load.limit };
  while (!load.limit.aborted) {
    const answer = await load.caller.ask<ProcessView>("GET", `/v1/processes/${id}`, look);
    if (answer?.ok && isFinal(answer.value.status)) return;
    if (answer?.ok === false) return refused(load, `look at ${id}`, answer.failure);
  }
}

const refused = (load: Load, what: string, failure: { code: string; message: string }): void =>
  load.fleet.findings.add("wrong answer", `${what}: ${failure.code} ${failure.message}`);
