import type { StartProcessBody } from "#shared/api/process.ts";
import { DroverError } from "#shared/errors.ts";
import { newId } from "#shared/ids.ts";
import { dispatchQueued, dispatchStart } from "../link/dispatch.ts";
import { sealPart } from "../secrets/sealed-part.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Needs } from "../needs.ts";
import type { InsertOutcome, NodeRow, ProcessRow } from "../store/store.ts";
import { holdOn } from "#shared/node-hold.ts";
import { findNode } from "./find-node.ts";
import { heldError } from "./node-held.ts";
import { nodeStatus } from "./node-presence.ts";
import { nodeOffline } from "./ask-node.ts";
import { launchOf, withoutSecrets } from "./launch.ts";
import { requireSupported } from "./not-supported.ts";
import { requireAllowed } from "./require-allowed.ts";
import { requireHeld, wallsAsked } from "./require-held.ts";
import { requireSecrets } from "./require-secrets.ts";
import { inputDigests } from "./input-digest.ts";
import { requireWithin } from "./within-scope.ts";

/** Places come up as processes end. */
const retryAfterS = 5;

export type Started = { process: ProcessRow; attached: boolean };

/** The node of a start; `handOut`: its holder takes it now, unless it turns out to be full. */
type Place = { nodeId: string; handOut: boolean };

const admitStart = async (
  needs: Needs,
  body: StartProcessBody,
  leaseId: string | undefined,
): Promise<Place> => {
  const named = body.node ?? "";
  // Who holds a live socket under this id or name is a node: no need to ask the database.
  const here = needs.hub.here(named);
  const asked = wallsAsked(body);
  if (here !== undefined && !asked) return { nodeId: here, handOut: needs.hub.free(here) > 0 };
  const node = await findNode(needs, named);
  if (asked) requireHeld(node, asked);
  if (here !== undefined) return { nodeId: here, handOut: needs.hub.free(here) > 0 };
  const online = nodeStatus(needs, node) === "online";
  if (body.ifOffline === "fail" && !online) throw notThere(node, { leaseId, now: needs.now() });
  return { nodeId: node.id, handOut: online };
};

// That it drains or is leased lasts longer than that it is away.
const notThere = (node: NodeRow, start: Parameters<typeof holdOn>[1]): DroverError => {
  const hold = holdOn(node, start);
  return hold === undefined ? nodeOffline() : heldError(hold);
};

/** On whose behalf a start comes: under a lease of the node, or by a fan-out that claimed the node for its id. */
type OnBehalf = { leaseId?: string | undefined; fanoutId?: string | undefined };

/**
 * Starts a process: the row first, the push as a hint. `id` is given by the caller so that it can watch before the row exists.
 * Whether the node takes it is decided by the row's own statement. For a fan-out, `start_canceled` says that its claim was used
 * or taken back.
 */
export const startProcess = async (
  needs: Needs,
  body: StartProcessBody,
  id = newId("proc"),
  { leaseId, fanoutId }: OnBehalf = {},
): Promise<Started> => {
  // Before anything is stored: the scope of who asks, what is asked for, then the policy, then the node's state.
  await requireWithin(needs, body);
  requireSupported(body);
  const allowed = await requireAllowed(needs, body);
  const secrets = await requireSecrets(needs, allowed.env);
  const { nodeId, handOut } = await admitStart(needs, allowed, leaseId);
  const launch = launchOf(id, allowed);
  // Whether another holder has a place is not known: what it cannot place will wait.
  const mayWait = !handOut || needs.hub.here(nodeId) === undefined;
  const stored = await needs.store.processes.insert({
    id,
    nodeId,
    fanoutId: fanoutId ?? null,
    key: body.key ?? null,
    ...(body.key === undefined ? { digest: "" } : await inputDigests(needs, body)),
    launch: withoutSecrets(launch),
    sealed: await sealPart(needs.seal, id, { env: allowed.env ?? {}, stdin: allowed.stdin }),
    background: body.background,
    labels: body.labels,
    status: handOut ? "starting" : "queued",
    ifOffline: body.ifOffline,
    queueTtlMs: body.queueTtlMs,
    leaseId,
    queueFull: mayWait && !(await needs.queue.hasRoom()),
    createdAt: needs.now(),
  });
  const process = existing(stored);
  if (stored.outcome === "attached") return { process, attached: true };
  return { process: await send(needs, process, { ...launch, ...secrets }), attached: false };
};

const existing = (stored: InsertOutcome): ProcessRow => {
  if ("process" in stored) return stored.process;
  if (stored.outcome === "held") throw heldError(stored.hold);
  if (stored.outcome === "queue_full")
    throw new DroverError("queue_full", "too many starts wait already; try again later", { retryAfterS });
  if (stored.outcome === "start_canceled")
    throw new DroverError("start_canceled", "this key was canceled before its start arrived");
  if (stored.outcome === "claim_gone")
    throw new DroverError("start_canceled", "the fan-out does not wait for this start any more");
  throw new DroverError("idempotency_mismatch", "a process with this key was started with another input");
};

// After a crash between row and push, the next session of the node finds the row and sends it. A row that waits is
// offered once more: a place may have come up between the look and the row, and whoever freed it did not see this row.
const send = async (needs: Needs, process: ProcessRow, launch: Launch): Promise<ProcessRow> => {
  const start = { launch, handOut: process.handOut };
  if (process.status === "starting" && (await dispatchStart(needs, process.nodeId, start))) return process;
  if (process.status === "queued") await dispatchQueued(needs, process.nodeId);
  return { ...process, status: "queued" };
};
