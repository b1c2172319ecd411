import type { Launch } from "#shared/link/launch.ts";
import type { Needs } from "../needs.ts";
import type { HandOut, StartInHand, UnheardEnding } from "../store/store.ts";
import { CannotOpen } from "../secrets/seal.ts";
import { resolveEnv, type SecretProblem } from "../secrets/resolve-env.ts";
import { openPart } from "../secrets/sealed-part.ts";

/**
 * From rows to the node.
 *
 *   queued    nobody has it in hand, and it is on no node: a stop ends it at once
 *   starting  somebody has it in hand, or had and is gone; it may be on the node
 *
 * Whoever takes a start in hand raises the number of its row (`handOut`), in the statement that takes it: who stored it has it
 * under the number 0, then whoever takes it out of the queue, the control plane to which a letter gives it away, and the session
 * whose hello did not list it. Whoever had it has it no more.
 *
 * 1. Only who has a start in hand sends it, and afterwards does nothing more to its row: a report ends it, or the next hello, or
 *    the fence.
 * 2. What was not sent is put back or ended under the number that was had. So a row goes back to `queued`, or ends as `canceled` or
 *    `expired`, only if nobody else has sent it meanwhile.
 * 3. A hello that does not list a start proves that it is not on the node, whoever sent it, unless another machine had the node
 *    before (see reconcile). Then nobody's number counts any more, and the session decides.
 * 4. A hand that waits while the agent reconnects and sends then sends what another one has sent, which the agent knows, or has
 *    ended, which the agent was told to fence.
 *
 * Whoever makes a row `queued` calls `dispatchQueued` after it: that, each hello and each ending are the moments when
 * queued rows may find a place.
 */
type DispatchNeeds = Pick<Needs, "store" | "hub" | "seal" | "log" | "bus" | "now">;

const batch = 64;

/**
 * Sends a start that is in hand; one that cannot be sent now waits in the queue. Returns whether it is on its way: also when
 * another one has it in hand by now. Another holder is given it: it finds the row, and the fence finds a start that nobody sent.
 */
export async function dispatchStart(
  needs: DispatchNeeds,
  nodeId: string,
  { launch, handOut }: { launch: Launch; handOut: number },
): Promise<boolean> {
  if (needs.hub.start(nodeId, launch)) return true;
  const start = { id: launch.id, handOut };
  if (needs.hub.here(nodeId) === undefined) {
    if (await needs.hub.dispatchElsewhere(nodeId, start)) return true;
    // Its agent may have come here meanwhile.
    if (needs.hub.start(nodeId, launch)) return true;
  }
  if (!(await returnUnsent(needs, nodeId, [start]))) return true;
  await dispatchQueued(needs, nodeId);
  return false;
}

/**
 * Starts queued rows of the node, oldest first, while it has places; whoever has its socket does it, one round after the
 * other, so that what one took is sent before the next one takes.
 */
export async function dispatchQueued(needs: DispatchNeeds, nodeId: string): Promise<void> {
  if (needs.hub.here(nodeId) === undefined) return void (await needs.hub.dispatchElsewhere(nodeId));
  await needs.hub.inTurn(nodeId, () => sendQueued(needs, nodeId));
}

/** What another control plane asks of the holder of a node: to send a start that it gives away, or what is queued. */
export async function dispatchFor(needs: DispatchNeeds, nodeId: string, given?: HandOut): Promise<void> {
  if (given === undefined) return dispatchQueued(needs, nodeId);
  // A letter may come twice, or when a hello has settled what it is about.
  const start = await needs.store.processes.takeOver(given);
  if (start === undefined) return;
  const launch = await launchOf(needs, start);
  if (launch !== undefined) await dispatchStart(needs, nodeId, { launch, handOut: start.handOut });
}

async function sendQueued(needs: DispatchNeeds, nodeId: string): Promise<void> {
  for (let places = needs.hub.free(nodeId); places > 0; places = needs.hub.free(nodeId)) {
    const starts = await needs.store.processes.takeQueued(nodeId, Math.min(places, batch), needs.now());
    if (starts.length === 0) return;
    for (const start of starts) needs.bus.publish(`process:${start.id}`);
    const launches = await Promise.all(starts.map((start) => launchOf(needs, start)));
    const unsent = starts.filter((_, at) => {
      const launch = launches[at];
      return launch !== undefined && !needs.hub.start(nodeId, launch);
    });
    await returnUnsent(needs, nodeId, unsent);
  }
}

/** The launch of a start in hand; undefined for one that must not be sent any more, which is ended. */
export async function launchOf(needs: DispatchNeeds, start: StartInHand): Promise<Launch | undefined> {
  const ending = endingBeforeSent(start, needs.now());
  if (ending !== undefined) return void (await endUnsent(needs, [start], ending));
  const launch = await completeLaunch(needs, start);
  if (!("problem" in launch)) return launch;
  const { problem: reason, detail } = launch;
  needs.log.error("process.launch_unreadable", { processId: start.id, reason, detail });
  return void (await endUnsent(needs, [start], { status: "failed", reason, detail }));
}

/** The whole launch of a stored start: its row, with stdin text and env out of the sealed part, and the values of its secrets. */
async function completeLaunch(
  needs: DispatchNeeds,
  { id, launch, sealed }: StartInHand,
): Promise<Launch | Pick<SecretProblem, "problem" | "detail">> {
  if (sealed === null) return launch;
  try {
    const { env, stdinText } = await openPart(needs.seal, id, sealed);
    const resolved = await resolveEnv(needs, env);
    if ("problem" in resolved) return resolved;
    return { ...launch, ...resolved, stdin: stdinText === undefined ? launch.stdin : { text: stdinText } };
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    return { problem: "secret_unreadable", detail: `its env and stdin cannot be opened: ${error.message}` };
  }
}

/** How a start that is on no node ends instead of being sent: it was stopped, or has waited for as long as it may. */
export function endingBeforeSent(
  { stop, createdAt, queueTtlMs }: StartInHand,
  now: Date,
): UnheardEnding | undefined {
  if (stop !== null) return { status: "canceled", reason: null };
  const isLate = createdAt.getTime() + queueTtlMs < now.getTime();
  return isLate ? { status: "expired", reason: "queue_ttl" } : undefined;
}

/** Returns whether any of them was still in these hands. */
async function returnUnsent(needs: DispatchNeeds, nodeId: string, starts: HandOut[]): Promise<boolean> {
  if (starts.length === 0) return false;
  // A node that is there and has a place refuses only a start that no frame can carry: it would come back for ever.
  if (needs.hub.free(nodeId) > 0) return endUnsent(needs, starts, neverDelivered);
  return told(needs, await needs.store.processes.putBack(starts, needs.now()));
}

const neverDelivered: UnheardEnding = { status: "expired", reason: "not_delivered" };

const endUnsent = async (needs: DispatchNeeds, starts: HandOut[], ending: UnheardEnding): Promise<boolean> =>
  told(needs, await needs.store.processes.endUnheard(starts, ending, needs.now()));

function told({ bus }: DispatchNeeds, changed: string[]): boolean {
  for (const id of changed) bus.publish(`process:${id}`);
  return changed.length > 0;
}
