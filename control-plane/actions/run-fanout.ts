import { DroverError } from "#shared/errors.ts";
import type { ProcessTemplate } from "#shared/api/process.ts";
import { newId } from "#shared/ids.ts";
import { openPart } from "../secrets/sealed-part.ts";
import type { Needs } from "../needs.ts";
import type { Claim, FanoutRow, Refusal } from "../store/store.ts";
import { concurrently } from "./concurrently.ts";
import { startOn } from "./create-fanout.ts";
import { outlookOf } from "./fanout-outlook.ts";
import { needsOfCreator } from "./needs-of-creator.ts";
import { startProcess } from "./start-process.ts";
import { askToStop } from "./stop-process.ts";
import { getProcess } from "./wait-final.ts";

/**
 * One step of a fan-out; the rows say all, so it may be taken by anybody at any time, and be cut off at any point.
 *
 * The order: a node is claimed with the id of its process (committed), then the process is stored, in one statement with the
 * mark that the claim was used, then it is pushed. Cut off before the second, the claim is found and given out again with the same
 * id; cut off before the third, the next session of the node sends it. A pause or a cancel takes unused claims back, and what comes
 * for such a claim afterwards stores nothing.
 */
export type Step = {
  outcome: "busy" | "closed" | "advanced";
  started: string[];
  ended: string[];
  lookAt: Date | null;
};

const startsAtOnce = 32;
const batch = 256;
/** As long as agents have to come back to a control plane that was away. */
const graceMs = 60_000;
const staleMs = 3000;
/** A node that the store believes to be there and that is not: the two agree in a moment. */
const againMs = 1000;

export const runFanout = async (needs: Needs, id: string): Promise<Step> => {
  const fanout = await needs.store.fanouts.get(id);
  if (fanout === undefined || fanout.endedAt !== null) return nothing("closed");
  const process = await readable(needs, fanout);
  const step = await needs.store.fanouts.advance(id, {
    ...{ now: needs.now(), graceMs, staleMs, batch },
    outlook: (row) => outlookOf(row, needs.now()),
    newProcessId: () => newId("proc"),
  });
  if (step.outcome !== "advanced") return nothing(step.outcome);
  if (step.changed) needs.bus.publish(`fanout:${id}`);
  if (step.fanout.status !== fanout.status)
    needs.log.info("fanout.status", { fanoutId: id, status: step.fanout.status, reason: step.fanout.reason });
  await concurrently(step.stops, startsAtOnce, (processId) => stop(needs, processId));
  const refused =
    process === undefined ? 0 : await startAll(needs, step.fanout, { process, claims: step.starts });
  return {
    outcome: "advanced",
    started: step.starts.map(({ processId }) => processId),
    ended: step.ended,
    lookAt: refused > 0 ? soon(needs, step.lookAt) : step.lookAt,
  };
};

const nothing = (outcome: "busy" | "closed"): Step => ({ outcome, started: [], ended: [], lookAt: null });

const soon = (needs: Needs, lookAt: Date | null): Date => {
  const again = new Date(needs.now().getTime() + againMs);
  return lookAt !== null && lookAt < again ? lookAt : again;
};

/** What is to run, with its secrets; one that cannot be opened (another secret key) pauses the fan-out before anything is claimed. */
const readable = async (needs: Needs, { id, process }: FanoutRow): Promise<ProcessTemplate | undefined> => {
  const sealed = await needs.store.fanouts.sealed(id);
  if (sealed === null) return process;
  try {
    const { env, stdinText } = await openPart(needs.seal, id, sealed);
    return { ...process, env, stdin: stdinText === undefined ? process.stdin : { text: stdinText } };
  } catch (error) {
    needs.log.error("fanout.unreadable", { fanoutId: id, error });
    await needs.store.fanouts.pause(id, "secrets_unreadable");
    return undefined;
  }
};

type Work = { process: ProcessTemplate; claims: Claim[] };

/** Starts what was claimed; returns how many nodes have to be looked at again. */
const startAll = async (needs: Needs, fanout: FanoutRow, { process, claims }: Work): Promise<number> => {
  if (claims.length === 0) return 0;
  const refusals: Refusal[] = [];
  const onBehalf = await needsOfCreator(needs, fanout.createdBy);
  await concurrently(claims, startsAtOnce, async (claim) => {
    const fate: Fate =
      onBehalf === "creator_revoked"
        ? { status: "skipped", reason: onBehalf }
        : await start(onBehalf, fanout, { process, claim });
    if (fate !== "started") refusals.push({ ...claim, ...fate });
  });
  if (refusals.length > 0) await needs.store.fanouts.refuse(fanout.id, refusals, needs.now());
  needs.bus.publish(`fanout:${fanout.id}`);
  return refusals.length;
};

type Fate = "started" | Pick<Refusal, "status" | "reason">;

const start = async (
  needs: Needs,
  fanout: FanoutRow,
  { process, claim }: { process: ProcessTemplate; claim: Claim },
): Promise<Fate> => {
  try {
    await startProcess(needs, startOn(claim.nodeId, process), claim.processId, { fanoutId: fanout.id });
    return "started";
  } catch (error) {
    if (error instanceof DroverError) {
      // Stored by another one, or taken back: the row knows.
      if (error.code === "start_canceled") return "started";
      if (error.code === "node_offline") return offline(needs, fanout, claim);
      if (error.code === "not_found") return unseen(needs, claim);
      // It passes, and waiting here costs the queue nothing.
      if (error.code === "queue_full") return { status: "waiting", reason: error.code };
      if (error.code !== "unavailable" && error.code !== "internal")
        return { status: "skipped", reason: error.code };
    }
    // The claim stands, and the start is tried again.
    needs.log.warn("fanout.start_failed", { fanoutId: fanout.id, ...claim, error });
    return "started";
  }
};

/** The node is gone, or out of the scope of whoever made the fan-out. */
const unseen = async (needs: Needs, { nodeId }: Claim): Promise<Fate> => {
  const isThere = needs.within !== undefined && (await needs.store.nodes.find(nodeId)) !== undefined;
  return { status: "skipped", reason: isThere ? "out_of_scope" : "node_deleted" };
};

/** Nobody holds a socket of the node although it was there when it was claimed. While that may be about to change it waits. */
const offline = async (needs: Needs, fanout: FanoutRow, { nodeId }: Claim): Promise<Fate> => {
  const node = await needs.store.nodes.find(nodeId);
  const seenAt = node?.lastSeenAt?.getTime() ?? 0;
  const isOver = node !== undefined && node.connectedAt !== null && needs.now().getTime() - seenAt > graceMs;
  return isOver && fanout.plan.ifOffline === "fail"
    ? { status: "skipped", reason: "node_offline" }
    : { status: "waiting", reason: "node_offline" };
};

const stop = async (needs: Needs, processId: string): Promise<void> => {
  const row = await getProcess(needs, processId);
  await askToStop(needs, row, row.launch.graceMs);
};
