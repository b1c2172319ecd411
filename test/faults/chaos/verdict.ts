// What has to hold once everything is healed and has come to rest. Each rule that does not is a finding.
import { existsSync, readFileSync } from "node:fs";
import type { NodeView } from "#shared/api/node.ts";
import type { ProcessView } from "#shared/api/process.ts";
import { liveStatuses } from "#shared/process-state.ts";
import type { Query } from "../../../sdk/client.ts";
import type { Caller } from "./client.ts";
import { faultOfEnding } from "./endings.ts";
import type { LinkEvent } from "./findings.ts";
import type { Fleet } from "./fleet.ts";
import type { Start } from "./load.ts";
import { checkFollowed, checkRead, type Heard } from "./outputs.ts";
import { livingOf } from "./survivors.ts";

export type Verdict = {
  accepted: number;
  unanswered: number;
  ran: number;
  /** Ended as it had to by what it does. */
  right: number;
  /** By status and reason, what was ended otherwise, with a true reason. */
  otherwise: Map<string, number>;
  bytesRead: number;
} & Heard;

type Look = { fleet: Fleet; caller: Caller; starts: Start[]; signal: AbortSignal };

/** Looks at everything; what is wrong goes to the findings of the fleet. */
export async function judge(look: Look): Promise<Verdict> {
  const { fleet, starts } = look;
  const rows = await allRows(look);
  const runs = runsOf(fleet);
  const verdict: Verdict = {
    ...{ accepted: 0, unanswered: 0, ran: 0, right: 0, otherwise: new Map(), bytesRead: 0 },
    ...{ followers: 0, bytesFollowed: 0, interruptions: 0 },
  };
  checkRuns(fleet, runs, rows);
  const numbers = new Set(runs.map(({ n }) => n));
  const byStart = Map.groupBy(rows.values(), (row) => Number(row.labels["n"]));
  for (const start of starts)
    checkStart({ look, verdict, start, own: byStart.get(start.n) ?? [], ran: numbers.has(start.n) });
  await checkFollowed(look, rows, verdict);
  verdict.bytesRead = await checkRead(look, rows);
  await checkNodes(look);
  for (const { pid, id } of livingOf(fleet))
    fleet.findings.add("survivor", `pid ${pid} of ${id}: ${JSON.stringify(rows.get(id) ?? "no row")}`);
  return verdict;
}

type Page = { data: ProcessView[]; nextCursor: string | null };

/** All rows by their id. */
async function allRows(look: Look): Promise<Map<string, ProcessView>> {
  const rows = new Map<string, ProcessView>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Page = await pageOf(look, cursor === undefined ? {} : { cursor });
    for (const row of page.data) rows.set(row.id, row);
    cursor = page.nextCursor;
  }
  return rows;
}

async function pageOf({ caller, signal }: Pick<Look, "caller" | "signal">, query: Query): Promise<Page> {
  const answer = await caller.ask<Page>("GET", "/v1/processes", { query: { limit: 200, ...query }, signal });
  if (!answer?.ok) throw new Error(`the list of processes was not answered: ${JSON.stringify(answer)}`);
  return answer.value;
}

type Run = { id: string; n: number };

function runsOf({ effects }: Fleet): Run[] {
  const text = existsSync(effects) ? readFileSync(effects, "utf8") : "";
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => ({ id: line.split(" ")[0] ?? "", n: Number(line.split(" ")[1]) }));
}

/** No id and no request twice, and nothing that nobody knows of. */
function checkRuns({ findings }: Fleet, runs: Run[], rows: Map<string, ProcessView>): void {
  const [ids, numbers] = [new Set<string>(), new Set<number>()];
  for (const { id, n } of runs) {
    if (ids.has(id)) findings.add("doubled", `${id} ran twice: ${JSON.stringify(rows.get(id))}`);
    else if (numbers.has(n)) findings.add("doubled", `start ${n} ran under two ids, one is ${id}`);
    if (!rows.has(id)) findings.add("unknown process", `${id} of start ${n} ran and has no row`);
    ids.add(id);
    numbers.add(n);
  }
}

type Check = { look: Look; verdict: Verdict; start: Start; own: ProcessView[]; ran: boolean };

function checkStart({ look: { fleet }, verdict, start, own, ran }: Check): void {
  const { findings } = fleet;
  if (ran) verdict.ran += 1;
  if (start.id === undefined) verdict.unanswered += 1;
  else verdict.accepted += 1;
  if (own.length > 1)
    findings.add("doubled", `start ${start.n} has rows ${own.map(({ id }) => id).join(" ")}`);
  if (start.id !== undefined && !own.some(({ id }) => id === start.id))
    findings.add("vanished", `${start.id} of start ${start.n}`);
  for (const row of own) {
    const links = linksOf(fleet, row.nodeId);
    const fault = faultOfEnding({ start, row, ran, wasFenced: findings.fenced.has(row.id), links });
    if (fault !== undefined)
      findings.add(
        fault.kind,
        `${start.command.kind} ${start.n}, ran: ${ran}, stop ${start.stop}: ${fault.why} ${JSON.stringify(row)}`,
      );
    const { ending } = start.command;
    const isRight = Object.entries(ending).every(([name, value]) => row[name as keyof ProcessView] === value);
    if (isRight) verdict.right += 1;
    else count(verdict.otherwise, `${row.status}${row.reason === null ? "" : `/${row.reason}`}`);
  }
}

/** An agent tells of its node's id once it is connected. */
const linksOf = ({ findings }: Fleet, nodeId: string): LinkEvent[] =>
  [...findings.links.values()].find((links) => links.some((link) => link.nodeId === nodeId)) ?? [];

const count = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);

async function checkNodes({ fleet, caller, signal }: Look): Promise<void> {
  for (const { name } of fleet.agents) {
    const answer = await caller.ask<NodeView>("GET", `/v1/nodes/${name}`, { signal });
    const node = answer?.ok ? answer.value : undefined;
    if (node?.status !== "online" || node.running !== 0 || node.queued !== 0)
      fleet.findings.add("node", `${name}: ${JSON.stringify(node)}`);
  }
}

/** Whether everything has come to its end: rows final, nothing left of them, nodes there. */
export async function isAtRest(look: Omit<Look, "starts">): Promise<boolean> {
  const open = await pageOf(look, { status: liveStatuses.join(",") });
  if (open.data.length > 0) return false;
  for (const { name } of look.fleet.agents) {
    const answer = await look.caller.ask<NodeView>("GET", `/v1/nodes/${name}`, look);
    if (!answer?.ok || answer.value.status !== "online" || answer.value.running !== 0) return false;
  }
  return livingOf(look.fleet).length === 0;
}
