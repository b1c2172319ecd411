import type { EndReason } from "#shared/process-state.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { recallReply } from "#shared/link/frames.ts";
import { isFinal } from "#shared/process-state.ts";
import { compare, type Inventory, stopOfStranger } from "./comparison.ts";
import { launchOf } from "./dispatch.ts";
import type { LiveNode } from "./live-node.ts";

/**
 * After each hello the rows of the node and the inventory of the agent are made to agree, whatever was lost on the way:
 * what never arrived is sent again under its id, what is gone becomes `lost` once the agent has said that it has no ending of
 * it, stops are asked for again. A start that went to another machine or data folder is not sent again: it may run there. Queued rows
 * are not its matter (see dispatch), and a process without a row is left alone: it may belong to another database.
 *
 * What is gone is `agent_state_lost`, also when the machine has booted since: an agent whose folder survived a boot lists
 * what ran before and reports it, as it ended or as `node_rebooted`. Where it does not, the folder went too, and with it
 * whether the boot or something before it ended the process.
 */
export type ReconcileNeeds = {
  needs: Needs;
  node: LiveNode;
  /** Tries until it works; undefined when the session ends first. */
  persist: <T>(work: () => Promise<T>) => Promise<{ value: T } | undefined>;
};

export async function reconcile(all: ReconcileNeeds, inventory: Inventory): Promise<void> {
  const { needs, node, persist } = all;
  const found = await persist(() => needs.store.processes.unfinished(node.nodeId));
  if (found === undefined) return;
  const difference = compare(found.value, inventory, (id) => node.alive.has(id));
  for (const row of difference.surviving) node.alive.confirm(row.id);
  for (const row of difference.stop) stop(node, row);
  await conclude(all, difference.unconfirmed, {
    status: "lost",
    reason: "unconfirmed",
    onlyUnreported: true,
  });
  await cancel(all, difference.cancel);
  for (const row of difference.resend) await resend(all, row);
  for (const id of difference.strangers) await meetStranger(all, id);
  await lose(all, [...difference.lost, ...difference.survivorsLost]);
}

const recalledAtOnce = 1000;
const recallWithinMs = 15_000;

/**
 * What is not in the inventory has ended and was acknowledged, or is gone. After the database was set back (restored from an
 * older dump) the agent may still have the ending that the database no longer knows: it is asked before anything is lost.
 */
async function lose(all: ReconcileNeeds, rows: ProcessRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += recalledAtOnce) {
    const part = rows.slice(from, from + recalledAtOnce);
    const known = await recall(all, part);
    if (known === undefined) return;
    const gone = part.filter((row) => !known.has(row.id) && !all.node.alive.has(row.id));
    await conclude(all, gone, { status: "lost", reason: "agent_state_lost" });
    const ended = gone.filter((row) => isFinal(row.status)).map((row) => row.id);
    if (ended.length === 0) continue;
    await all.persist(() => all.needs.store.processes.dropSurvivors(ended));
    for (const id of ended) all.needs.bus.publish(`process:${id}`);
  }
}

/** Those of which the agent has a record and says again how they ended; undefined when the session ends first. */
async function recall(
  { node, persist }: ReconcileNeeds,
  rows: ProcessRow[],
): Promise<Set<string> | undefined> {
  const ids = rows.map((row) => row.id);
  const answered = await persist(async () => {
    const outcome = await node.requests.ask({ type: "recall", ids }, { timeoutMs: recallWithinMs });
    if (outcome.outcome !== "ok") throw new Error(`the agent was asked for endings: ${outcome.outcome}`);
    return recallReply.parse(outcome.value).known;
  });
  return answered && new Set(answered.value);
}

function stop(node: LiveNode, row: ProcessRow): void {
  const { graceMs, reason } = row.stop ?? { graceMs: row.launch.graceMs, reason: "stopped" };
  node.send({ type: "stop", id: row.id, graceMs, reason });
}

async function resend({ needs, node, persist }: ReconcileNeeds, row: ProcessRow): Promise<void> {
  const launch = await persist(() => launchOf(needs, row));
  // It may have ended, been stopped or been sent while its launch was read.
  if (launch?.value === undefined || node.alive.has(row.id)) return;
  node.resend(launch.value);
}

/** A start that never arrived and was stopped meanwhile: it ends here, and the node is told in case it arrives after all. */
async function cancel(all: ReconcileNeeds, rows: ProcessRow[]): Promise<void> {
  for (const row of rows) {
    stop(all.node, row);
    await conclude(all, [row], { status: "canceled", reason: null, onlyUnreported: true });
  }
}

async function conclude(
  { needs, node, persist }: ReconcileNeeds,
  rows: ProcessRow[],
  ending: { status: "lost" | "canceled"; reason: EndReason | null; onlyUnreported?: boolean },
): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map((row) => row.id);
  const changed = await persist(() =>
    needs.store.processes.conclude(ids, {
      ...ending,
      now: needs.now(),
      onlyStatuses: ["starting", "running", "stopping"],
    }),
  );
  for (const id of changed?.value ?? []) needs.bus.publish(`process:${id}`);
  needs.log.warn("process.concluded", { nodeId: node.nodeId, processIds: changed?.value, ...ending });
}

async function meetStranger({ needs, node, persist }: ReconcileNeeds, id: string): Promise<void> {
  const found = await persist(() => needs.store.processes.get(id));
  if (found === undefined) return;
  const row = found.value;
  if (row === undefined || row.nodeId !== node.nodeId)
    return needs.log.warn("process.unknown", { nodeId: node.nodeId, processId: id });
  const ending = stopOfStranger(row);
  if (ending !== undefined)
    node.send({ type: "stop", id, graceMs: ending.graceMs, reason: row.stop?.reason ?? "stopped" });
}
