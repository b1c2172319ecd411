import { createHash, randomBytes } from "node:crypto";
import { newId } from "#shared/ids.ts";
import type { Launch } from "#shared/link/launch.ts";
import { databaseAt } from "../../../control-plane/entry/database-socket.ts";
import { createMemoryBus } from "../../../control-plane/bus/memory.ts";
import { openCluster } from "../../../control-plane/cluster/cluster.ts";
import { dispatchFor } from "../../../control-plane/link/dispatch.ts";
import { type Link, openLink } from "../../../control-plane/link/link.ts";
import { type LinkTimes, linkTimes } from "../../../control-plane/link/times.ts";
import type { Log, Needs } from "../../../control-plane/needs.ts";
import { queueGauge } from "../../../control-plane/queue-gauge.ts";
import { sealWith } from "../../../control-plane/secrets/seal.ts";
import { openPostgresStore } from "../../../control-plane/store/postgres/open.ts";
import type { HandOut, NewProcess, ProcessRow, Store } from "../../../control-plane/store/store.ts";
import { testDatabase } from "../../support/postgres.ts";
import { FarEnd } from "./far-end.ts";

export type LogLine = { event: string; fields: Record<string, unknown> };
export type Rig = Awaited<ReturnType<typeof openRig>>;

/** A control plane's link over a real database; agents are far ends in memory. */
export async function openRig(
  times: Partial<LinkTimes> = {},
  wrap: (store: Store) => Store = (store) => store,
) {
  const database = await testDatabase();
  const rig = await rigOn({ url: database.url, times, wrap, key: Uint8Array.from(randomBytes(32)) });
  return {
    ...rig,
    async close() {
      await rig.close();
      await database.drop();
    },
  };
}

/** Two control planes that share a database. */
export async function openRigs(times: Partial<LinkTimes> = {}) {
  const database = await testDatabase();
  const key = Uint8Array.from(randomBytes(32));
  const shared = { url: database.url, times, wrap: (store: Store) => store, key };
  const [a, b] = [await rigOn(shared), await rigOn(shared)];
  await Promise.all([a, b].map((each) => each.cluster.serve(each.link, each.served)));
  return {
    a,
    b,
    url: database.url,
    async close() {
      await Promise.all([a.close(), b.close()]);
      await database.drop();
    },
  };
}

type RigOptions = {
  url: string;
  times: Partial<LinkTimes>;
  wrap: (store: Store) => Store;
  key: Uint8Array<ArrayBuffer>;
};

async function rigOn({ url, times, wrap, key }: RigOptions) {
  const store = openPostgresStore({ ...databaseAt(url), poolSize: 4 });
  const lines: LogLine[] = [];
  const clock = { aheadMs: 0 };
  const log = logInto(lines);
  const local = createMemoryBus((fault) => {
    throw fault;
  });
  const seal = await sealWith(key);
  const cluster = openCluster({ store, local, log, seal, place: "test", version: "0.0.1" });
  const rest: Omit<Needs, "hub"> = {
    store: wrap(store),
    bus: cluster.bus,
    seal,
    queue: queueGauge(store.processes, 100_000),
    config: {
      adminTokenHash: "",
      publicUrl: "http://127.0.0.1",
      version: "0.0.1",
      retentionMs: 86_400_000,
      nodeGoneMs: 7 * 86_400_000,
      signIn: { idleMs: 3_600_000, maxMs: 86_400_000, oidc: undefined },
      limits: { requestsPerToken: 0, requestsPerAddress: 0, failedPerMinute: 0, openPerToken: 0 },
      auditRetentionMs: 365 * 86_400_000,
    },
    log,
    instance: cluster.self,
    now: () => new Date(Date.now() + clock.aheadMs),
  };
  // A test that hangs says so by vitest's limit; the link's own waits are short, those that must not end are long.
  const link = openLink(rest, {
    times: { ...linkTimes, retryMs: { first: 5, longest: 20 }, challengeMs: 100, ...times },
    elsewhere: cluster.elsewhere,
  });
  const needs: Needs = { ...rest, hub: link.hub };
  await store.instances.register({ id: cluster.self, place: "test", version: "0.0.1" });
  const dispatch = (nodeId: string, given?: HandOut) => dispatchFor(needs, nodeId, given);
  const served = { alone: false, dispatch };
  return {
    ...{ store, link, hub: link.hub, needs, lines, clock, cluster, served },
    node: () => enrolledNode(store),
    agent: (nodeId: string) => new FarEnd(link, nodeId),
    online: (nodeId: string, change: OnlineChange = {}) => onlineAgent(link, nodeId, change),
    start: (nodeId: string, change: Partial<NewProcess> = {}) => storedStart(store, nodeId, change),
    until: (id: string, holds: (row: ProcessRow) => boolean) => rowUntil(needs, id, holds),
    async close() {
      await link.close();
      await cluster.close();
      await store.close();
    },
  };
}

type OnlineChange = NonNullable<Parameters<FarEnd["hello"]>[0]> & { remembers?: string[] };

/** An agent that said hello, was welcomed and whose node takes starts. */
async function onlineAgent(
  link: Link,
  nodeId: string,
  { remembers = [], ...change }: OnlineChange,
): Promise<FarEnd> {
  const agent = new FarEnd(link, nodeId);
  if (change.instanceId !== undefined) agent.instanceId = change.instanceId;
  for (const id of remembers) agent.remembers.add(id);
  agent.hello(change);
  await agent.next("welcome");
  return agent;
}

export async function enrolledNode(store: Store): Promise<{ id: string; key: string }> {
  const key = randomBytes(32).toString("base64url");
  const nodeId = newId("node");
  const now = new Date();
  const token = randomBytes(16).toString("hex");
  const plain = { ttlMs: 60_000, maxUses: 1, labels: {}, allowLabels: true, replace: false };
  const expiresAt = new Date(now.getTime() + 60_000);
  await store.joinTokens.create({
    id: newId("tok"),
    hash: sha256(token),
    ...plain,
    expiresAt,
    createdAt: now,
    uses: 0,
  });
  const agent = {
    joinToken: token,
    name: nodeId.replace("_", "-"),
    keyHash: sha256(key),
    labels: {},
    facts: {},
  };
  const done = await store.joinTokens.enroll({
    ...agent,
    tokenHash: sha256(token),
    nodeId,
    now,
    defaultMaxProcesses: 256,
  });
  if (done.outcome !== "enrolled") throw new Error(`not enrolled: ${done.outcome}`);
  return { id: nodeId, key };
}

export const launchFor = (id: string, change: Partial<Launch> = {}): Launch => ({
  ...{
    id,
    chatId: null,
    command: "true",
    argv: null,
    shell: "sh",
    cwd: null,
    env: {},
    stdin: "none",
    output: "merged",
  },
  ...{
    timeoutMs: null,
    idleTimeoutMs: null,
    idleOn: ["output"],
    graceMs: 5000,
    logBytes: 65_536,
    outputBytes: null,
  },
  ...{ nice: null, keepDescendants: true, memBytes: null, cpuPct: null, pids: null, user: null },
  ...change,
});

async function storedStart(store: Store, nodeId: string, change: Partial<NewProcess>): Promise<ProcessRow> {
  const id = change.id ?? newId("proc");
  const inserted = await store.processes.insert({
    ...{
      id,
      nodeId,
      fanoutId: null,
      key: null,
      digest: "",
      launch: launchFor(id),
      sealed: null,
      background: false,
      labels: {},
    },
    ...{ status: "starting", ifOffline: "fail", queueTtlMs: 3_600_000, createdAt: new Date() },
    ...change,
  });
  if (inserted.outcome !== "inserted") throw new Error(`not inserted: ${inserted.outcome}`);
  return inserted.process;
}

/** The row once it satisfies the condition: looks after each notice of the bus. */
async function rowUntil(needs: Needs, id: string, holds: (row: ProcessRow) => boolean): Promise<ProcessRow> {
  let changed = Promise.withResolvers<void>();
  const unsubscribe = needs.bus.subscribe(`process:${id}`, () => changed.resolve());
  try {
    for (;;) {
      const row = await needs.store.processes.get(id);
      if (row !== undefined && holds(row)) return row;
      await changed.promise;
      changed = Promise.withResolvers<void>();
    }
  } finally {
    unsubscribe();
  }
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const logInto = (lines: LogLine[]): Log => {
  const add = (event: string, fields: Record<string, unknown> = {}): void =>
    void lines.push({ event, fields });
  return { debug: add, info: add, warn: add, error: add, hide: () => {} };
};
