import { processTemplate } from "#shared/api/process.ts";
import { newId } from "#shared/ids.ts";
import type {
  Advance,
  Claim,
  FanoutNodeRow,
  FanoutPlan,
  FanoutRow,
  NewFanout,
  Outlook,
} from "../../control-plane/store/store.ts";
import {
  after,
  ending,
  enrolledNode,
  newProcess,
  newSession,
  noon,
  taken,
  type OpenStore,
} from "./store-samples.ts";

export const plan = (change: Partial<FanoutPlan> = {}): FanoutPlan => ({
  parallel: null,
  staggerMs: null,
  canary: null,
  maxFailures: null,
  ifOffline: "fail",
  expiresMs: null,
  acceptedFailures: 0,
  ...change,
});

/** An outlook that leaves the fan-out as it is. */
export const outlook =
  (change: Partial<Outlook> = {}) =>
  ({ status, reason }: FanoutRow): Outlook => ({
    status,
    reason,
    expire: false,
    room: 0,
    lookAt: null,
    ...change,
  });

/** Fan-outs of a store, their nodes and what becomes of these. */
export const fanoutSamples = (store: OpenStore) => {
  const fanouts = () => store().fanouts;
  const online = async (): Promise<{ id: string; name: string }> => {
    const node = await enrolledNode(store());
    await store().nodes.connected(node.id, newSession);
    return { id: node.id, name: node.name };
  };
  const many = (count: number) => Promise.all(Array.from({ length: count }, online));
  const made = async (change: Partial<NewFanout> = {}): Promise<NewFanout> => {
    const fanout: NewFanout = {
      id: newId("fan"),
      selector: "*",
      process: processTemplate.parse({ command: "hostname" }),
      sealed: null,
      plan: plan(),
      createdBy: null,
      createdAt: noon,
      expiresAt: null,
      nodes: change.nodes ?? (await many(2)),
      ...change,
    };
    await fanouts().create(fanout);
    return fanout;
  };
  const advance = async (id: string, change: Partial<Outlook> = {}, more: Partial<Advance> = {}) => {
    const step = await fanouts().advance(id, {
      now: after(1000),
      outlook: outlook(change),
      newProcessId: () => newId("proc"),
      graceMs: 60_000,
      staleMs: 3000,
      batch: 100,
      ...more,
    });
    if (step.outcome !== "advanced") throw new Error(`a step said ${step.outcome}`);
    return step;
  };
  const rows = (id: string): Promise<FanoutNodeRow[]> => fanouts().nodes(id, { limit: 1000 });
  const statuses = async (id: string) => (await rows(id)).map(({ status }) => status);
  const begin = (id: string, { nodeId, processId }: Claim) =>
    store().processes.insert({
      ...newProcess({ nodeId, fanoutId: id, createdAt: after(1000) }),
      id: processId,
    });
  const start = async (id: string, room = 1000): Promise<Claim[]> => {
    const { starts } = await advance(id, { room });
    for (const claim of starts) {
      const { outcome } = await begin(id, claim);
      if (outcome !== "inserted") throw new Error(`a start said ${outcome}`);
    }
    return starts;
  };
  const end = (claim: Claim, change: Parameters<typeof ending>[2] = {}) =>
    taken(store(), claim.nodeId, [ending(claim.processId, 1, change)]);

  return { fanouts, online, many, made, advance, rows, statuses, begin, start, end };
};
