import { maxFanoutNodes, type FanoutBody } from "#shared/api/fanout.ts";
import type { ProcessTemplate, StartProcessBody } from "#shared/api/process.ts";
import { invalid } from "#shared/errors.ts";
import { matchesSelector } from "#shared/selector.ts";
import { sealPart } from "../secrets/sealed-part.ts";
import type { Needs } from "../needs.ts";
import type { FanoutPlan, FanoutRow } from "../store/store.ts";
import { getFanout, tellOfFanout } from "./get-fanout.ts";
import { selectorOf } from "./list-nodes.ts";
import { allNodes } from "./all-nodes.ts";
import { namesAsLabels } from "./names-as-labels.ts";
import { requireSecrets } from "./require-secrets.ts";
import { requireSupported } from "./not-supported.ts";
import { requireAllowed } from "./require-allowed.ts";

/** A fan-out that waits for nodes, and says not how long, gives up after a day. */
const queueMs = 86_400_000;

/** Stores a fan-out with a row for every node that its selector matches now; the starts come after it. */
export const createFanout = async (
  needs: Needs,
  body: FanoutBody,
  { id, createdBy }: { id: string; createdBy: string | null },
): Promise<FanoutRow> => {
  requireSupported(startOn("", body.process));
  await requireAllowed(needs, body.process);
  await requireSecrets(needs, body.process.env);
  const nodes = await targets(needs, body.selector);
  const { process, ...plain } = body;
  const plan = planOf(plain);
  const createdAt = needs.now();
  await needs.store.fanouts.create({
    id,
    selector: body.selector,
    process: withoutSecrets(process),
    sealed: await sealPart(needs.seal, id, { env: process.env ?? {}, stdin: process.stdin }),
    plan,
    createdBy,
    createdAt,
    expiresAt: plan.expiresMs === null ? null : new Date(createdAt.getTime() + plan.expiresMs),
    nodes,
  });
  tellOfFanout(needs, id);
  needs.log.info("fanout.created", { fanoutId: id, nodes: nodes.length });
  return getFanout(needs, id);
};

/** The start of the process on one node. Whether and how long it waits is the fan-out's matter, so it is never queued by itself. */
export const startOn = (nodeId: string, process: ProcessTemplate): StartProcessBody => ({
  ...process,
  node: nodeId,
  ifOffline: "fail",
  queueTtlMs: queueMs,
});

const planOf = (body: Omit<FanoutBody, "process">): FanoutPlan => ({
  parallel: body.parallel ?? null,
  staggerMs: body.staggerMs ?? null,
  canary: body.canary ?? null,
  maxFailures: body.maxFailures ?? null,
  ifOffline: body.ifOffline,
  expiresMs: body.expiresMs ?? (body.ifOffline === "queue" ? queueMs : null),
  acceptedFailures: 0,
});

const withoutSecrets = (process: ProcessTemplate): ProcessTemplate => ({
  ...process,
  env: {},
  stdin: typeof process.stdin === "object" ? { text: "" } : process.stdin,
});

const byName = new Intl.Collator("en", { numeric: true });

const targets = async (needs: Needs, text: string): Promise<{ id: string; name: string }[]> => {
  const selector = selectorOf(text);
  const mistaken = namesAsLabels(selector);
  const found: { id: string; name: string }[] = [];
  for await (const node of allNodes(needs)) {
    mistaken.see(node);
    if (matchesSelector(selector, node)) found.push({ id: node.id, name: node.name });
  }
  const problem = mistaken.problem() ?? numberProblem(found.length);
  if (problem !== undefined) throw invalid([{ path: "selector", message: problem }]);
  return found.toSorted((one, other) => byName.compare(one.name, other.name));
};

const numberProblem = (found: number): string | undefined => {
  if (found === 0) return "matches no node";
  return found > maxFanoutNodes ? `matches more than ${maxFanoutNodes} nodes; split it` : undefined;
};
