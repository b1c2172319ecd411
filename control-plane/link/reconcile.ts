import type { Needs } from "../needs.ts";
import type { ProcessRow, StartInHand } from "../store/store.ts";
import { recallReply } from "#shared/link/frames.ts";
import { isFinal } from "#shared/process-state.ts";
import { compare, type Inventory, stopOfStranger } from "./comparison.ts";
import { endingBeforeSent, launchOf } from "./dispatch.ts";
import type { LiveNode } from "./live-node.ts";

/**
 * After each hello the rows of the node and the inventory of the agent are made to agree, whatever was lost on the way:
 * what never arrived is sent again under its id, or ends if it was stopped or its time to wait has passed; what is gone becomes
 * `lost` once the agent has said that it has no ending of it; stops are asked for again. A start that went to another machine or data
 * folder is not sent again, nor said to be canceled or expired: it may run there. Queued rows are not its matter (see dispatch), and
 * a process without a row is left alone: it may belong to another database.
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
  await giveUp(all, difference.unconfirmed);
  await sendMissing(all, difference.missing);
  for (const id of difference.strangers) await meetStranger(all, id);
  await lose(all, [...difference.lost, ...difference.survivorsLost]);
}

const takenAtOnce = 64;
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
    await conclude(all, gone);
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

/** What did not arrive is this session's to send. What became of it since it was read is seen by who takes it. */
async function sendMissing(all: ReconcileNeeds, rows: ProcessRow[]): Promise<void> {
  const { needs, node, persist } = all;
  for (let from = 0; from < rows.length; from += takenAtOnce) {
    const ids = rows.slice(from, from + takenAtOnce).map((row) => row.id);
    const taken = await persist(() => needs.store.processes.takeMissing(node, ids));
    for (const start of taken?.value ?? []) await send(all, start);
  }
}

async function send({ needs, node, persist }: ReconcileNeeds, start: StartInHand): Promise<void> {
  // Before it is said to have ended: should somebody send it after all, or the agent know an ending of it that this database
  // does not (restored from an older dump), the agent says so.
  if (endingBeforeSent(start, needs.now()) !== undefined) stop(node, start);
  const launch = await persist(() => launchOf(needs, start));
  // Its report may have come meanwhile.
  if (launch?.value !== undefined && !node.alive.has(start.id)) node.resend(launch.value);
}

const unconfirmed = { status: "lost", reason: "unconfirmed" } as const;

async function giveUp(all: ReconcileNeeds, rows: ProcessRow[]): Promise<void> {
  if (rows.length === 0) return;
  const { store, now } = all.needs;
  const ended = await all.persist(() => store.processes.endUnheard(rows, unconfirmed, now()));
  tell(all, ended?.value ?? [], unconfirmed);
}

const stateLost = { status: "lost", reason: "agent_state_lost" } as const;

async function conclude(all: ReconcileNeeds, rows: ProcessRow[]): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map((row) => row.id);
  const { store, now } = all.needs;
  const changed = await all.persist(() =>
    store.processes.conclude(ids, {
      ...stateLost,
      now: now(),
      onlyStatuses: ["starting", "running", "stopping"],
    }),
  );
  tell(all, changed?.value ?? [], stateLost);
}

function tell({ needs, node }: ReconcileNeeds, ids: string[], ending: typeof unconfirmed | typeof stateLost) {
  for (const id of ids) needs.bus.publish(`process:${id}`);
  needs.log.warn("process.concluded", { nodeId: node.nodeId, processIds: ids, ...ending });
}

/** A process that lives on the node, of which the database expects nothing. */
export async function meetStranger({ needs, node, persist }: ReconcileNeeds, id: string): Promise<void> {
  const found = await persist(() => needs.store.processes.get(id));
  if (found === undefined) return;
  const row = found.value;
  if (row === undefined || row.nodeId !== node.nodeId)
    return needs.log.warn("process.unknown", { nodeId: node.nodeId, processId: id });
  const ending = stopOfStranger(row);
  if (ending === undefined) return;
  needs.log.warn("process.unwanted", { nodeId: node.nodeId, processId: id, status: row.status });
  node.send({ type: "stop", id, graceMs: ending.graceMs, reason: row.stop?.reason ?? "stopped" });
}
