import { confirmWithinMs } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";

const eventsMs = 7 * 24 * 3_600_000;
const idempotencyMs = 24 * 3_600_000;
const pruneBatch = 1000;
/** There are more of them than of processes, and nothing hangs on them. */
const auditBatch = 5000;
/** Batches of one sweep: a long backlog is spread over several, so that no sweep holds up the next tick for long. */
const pruneBatches = 50;

/** Ends queued starts whose time has passed. */
export async function expireQueued(needs: Needs): Promise<void> {
  const { store, bus, log } = needs;
  const at = needs.now();
  const expired = await store.processes.expireQueued(at, new Date(at.getTime() - confirmWithinMs));
  for (const id of expired) bus.publish(`process:${id}`);
  if (expired.length > 0) log.info("process.expired", { processIds: expired });
}

/**
 * Lets what is queued behind leases that are over go on. They bind nobody any more; the notice comes before they are
 * cleared, so that one that is lost with its sender is given again.
 */
export async function endLeases(needs: Needs): Promise<void> {
  const { store, bus, log } = needs;
  const over = await store.nodes.leasesOver(needs.now());
  if (over.length === 0) return;
  for (const id of over) bus.publish(`node:${id}`);
  await store.nodes.clearLeases(over, needs.now());
  log.info("node.leases_over", { nodeIds: over });
}

/**
 * Forgets ended processes, fan-outs, tokens and entries of the audit past their retention, sign-ins that are over, events past
 * their week and idempotency keys past their day.
 */
export async function prune(needs: Needs): Promise<void> {
  const { store, config, log } = needs;
  const at = needs.now().getTime();
  const processes = await inBatches(pruneBatch, (most) =>
    store.processes.prune(new Date(at - config.retentionMs), most),
  );
  const audit = await inBatches(auditBatch, (most) =>
    store.audit.prune(new Date(at - config.auditRetentionMs), most),
  );
  const fanouts = await store.fanouts.prune(new Date(at - config.retentionMs), pruneBatch);
  const keys = await store.idempotency.prune(new Date(at - idempotencyMs));
  const events = await store.events.prune(new Date(at - eventsMs));
  const tokens = await store.tokens.prune(new Date(at - config.retentionMs));
  const idleSince = new Date(at - config.signIn.idleMs);
  const sessions = await store.consoleSessions.prune({ now: new Date(at), idleSince });
  await store.signInCodes.prune(new Date(at));
  const pruned = { processes, fanouts, keys, events, tokens, sessions, audit };
  if (Object.values(pruned).some((count) => count > 0)) log.info("records.pruned", pruned);
}

const inBatches = async (most: number, prune: (most: number) => Promise<number>): Promise<number> => {
  let all = 0;
  for (let batch = 0; batch < pruneBatches; batch += 1) {
    const pruned = await prune(most);
    all += pruned;
    if (pruned < most) break;
  }
  return all;
};
