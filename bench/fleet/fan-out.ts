import { setTimeout as delay } from "node:timers/promises";
import type { Result } from "../figure.ts";
import { chosenLabel } from "./enrol.ts";
import { fanOutNodes, type Fleet } from "./fleet.ts";
import { monotonicMs } from "./monotonic.ts";

const endsWithinMs = 120_000;
const lookEveryMs = 50;
const pageRows = 100;

type Row = { status: string };
type Page = { data: Row[]; nextCursor: string | null };
type Fanout = { id: string; status: string; reason?: string | null; counts: Record<string, number> };

/** `hostname` on many nodes as one object, from the request to its end. */
export async function fanOut(fleet: Fleet): Promise<Result[]> {
  const count = Math.min(fleet.crews.size, fanOutNodes);
  const { client } = fleet.controlPlane;
  const from = monotonicMs();
  const body = { selector: chosenLabel, process: { command: "hostname" }, ifOffline: "fail" };
  const made = await client.post<Fanout>("/v1/fanouts", body);
  const ended = await untilEnded(() => client.get<Fanout>(`/v1/fanouts/${made.id}`));
  const seconds = (monotonicMs() - from) / 1000;
  const wrong = count - (ended.counts["succeeded"] ?? 0);
  if (wrong > 0) fleet.bench.note(await unsuccessful(fleet, made.id));
  return [
    { name: `hostname on ${count} nodes`, value: seconds, unit: "s" },
    { name: "nodes on which it did not succeed", value: wrong, unit: "", goal: { atMost: 0 } },
  ];
}

/** The nodes on which it did not succeed, and why. */
async function unsuccessful({ controlPlane: { client } }: Fleet, id: string): Promise<string> {
  const found: Row[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const from: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page: Page = await client.get(`/v1/fanouts/${id}/nodes?limit=${pageRows}${from}`);
    found.push(...page.data.filter(({ status }) => status !== "succeeded"));
    cursor = page.nextCursor;
  }
  return found
    .slice(0, 5)
    .map((row) => JSON.stringify(row))
    .join("\n");
}

async function untilEnded(look: () => Promise<Fanout>): Promise<Fanout> {
  const deadline = monotonicMs() + endsWithinMs;
  for (;;) {
    const fanout = await look();
    if (fanout.status !== "running") return fanout;
    if (monotonicMs() > deadline)
      throw new Error(`the fan-out does not end: ${JSON.stringify(fanout.counts)}`);
    await delay(lookEveryMs);
  }
}
