import { vi } from "vitest";
import { newId } from "#shared/ids.ts";
import type { Launch } from "#shared/link/launch.ts";
import type {
  AuditEntry,
  EventPosition,
  EventRow,
  JoinTokenRow,
  NewProcess,
  NewSession,
  NodeRow,
  ProcessReport,
  ProcessRow,
  Store,
  TakenReports,
} from "../../control-plane/store/store.ts";

/** What a contract suite runs on: a store with an empty database behind it. */
export type OpenStore = () => Store;

export const noon = new Date("2026-03-01T12:00:00.000Z");
export const after = (ms: number, from = noon): Date => new Date(from.getTime() + ms);

const launch = (id: string, change: Partial<Launch>): Launch => ({
  id,
  chatId: null,
  command: "true",
  argv: null,
  shell: "sh",
  cwd: null,
  env: {},
  stdin: "none",
  output: "merged",
  timeoutMs: null,
  idleTimeoutMs: null,
  idleOn: ["output", "cpu"],
  graceMs: 5000,
  logBytes: 65_536,
  outputBytes: null,
  nice: null,
  keepDescendants: true,
  memBytes: null,
  cpuPct: null,
  pids: null,
  user: null,
  ...change,
});

type StartChange = Partial<Omit<NewProcess, "launch" | "id">> & { launch?: Partial<Launch> };

export function newProcess({ launch: launchChange = {}, ...change }: StartChange = {}): NewProcess {
  const id = newId("proc");
  return {
    id,
    nodeId: "node_00000000000000000000000000",
    fanoutId: null,
    key: null,
    digest: "digest",
    launch: launch(id, launchChange),
    sealed: null,
    background: false,
    labels: {},
    status: "starting",
    ifOffline: "fail",
    queueTtlMs: 1000,
    createdAt: noon,
    ...change,
  };
}

export async function inserted(store: Store, change: StartChange = {}): Promise<ProcessRow> {
  const result = await store.processes.insert(newProcess(change));
  if (result.outcome !== "inserted") throw new Error(`insert said ${result.outcome}`);
  return result.process;
}

export const report = (id: string, revision: number, change: Partial<ProcessReport> = {}): ProcessReport => ({
  id,
  revision,
  status: "running",
  reason: null,
  detail: null,
  exitCode: null,
  signal: null,
  pid: 42,
  cwd: "/home/me",
  startedAt: after(10),
  exitedAt: null,
  durationMs: null,
  observedAt: after(revision * 100),
  totalBytes: 0,
  omittedBytes: 0,
  lines: null,
  survivors: [],
  snapshots: [],
  ...change,
});

export const ending = (id: string, revision: number, change: Partial<ProcessReport> = {}): ProcessReport =>
  report(id, revision, { status: "exited", exitCode: 0, exitedAt: after(60), durationMs: 50, ...change });

export const joinToken = (change: Partial<JoinTokenRow> = {}): JoinTokenRow => ({
  id: newId("tok"),
  hash: newId("tok"),
  ttlMs: 3_600_000,
  maxUses: 1,
  uses: 0,
  labels: {},
  allowLabels: true,
  replace: false,
  expiresAt: after(3_600_000),
  createdAt: noon,
  ...change,
});

type EnrollInput = Parameters<Store["joinTokens"]["enroll"]>[0];

export const enrollment = (tokenHash: string, change: Partial<EnrollInput> = {}): EnrollInput => ({
  joinToken: "not looked at",
  tokenHash,
  nodeId: newId("node"),
  name: newId("node").slice(-10),
  keyHash: "a".repeat(64),
  labels: {},
  facts: {},
  now: noon,
  defaultMaxProcesses: 256,
  ...change,
});

export async function enrolledNode(store: Store, change: Partial<EnrollInput> = {}): Promise<NodeRow> {
  const token = joinToken();
  await store.joinTokens.create(token);
  const result = await store.joinTokens.enroll(enrollment(token.hash, change));
  if (result.outcome !== "enrolled") throw new Error(`enroll said ${result.outcome}`);
  return result.node;
}

/** Where what comes begins, once no open transaction draws what has happened into it. */
export async function eventsBegin(store: Store): Promise<EventPosition> {
  return vi.waitFor(
    async () => {
      const position = await store.events.newest();
      const page = await store.events.after(position, 1);
      if (page === "expired" || page.heldBack || page.events.length > 0)
        throw new Error("not yet behind all");
      return position;
    },
    { interval: 5, timeout: 10_000 },
  );
}

/** What comes behind a position, once no transaction holds it back; those of other tests on this server may. */
export async function settledEvents(store: Store, position: EventPosition, limit = 100): Promise<EventRow[]> {
  return vi.waitFor(
    async () => {
      const page = await store.events.after(position, limit);
      if (page === "expired" || page.heldBack) throw new Error(page === "expired" ? page : "held back");
      return page.events;
    },
    { interval: 5, timeout: 10_000 },
  );
}

/** The row, which a test knows to be there. */
export async function processOf(store: Store, id: string): Promise<ProcessRow> {
  const row = await store.processes.get(id);
  if (!row) throw new Error(`no process ${id}`);
  return row;
}

/** The reports as the newest session of their node sends them; the node is made if there is none. */
export async function taken(store: Store, nodeId: string, reports: ProcessReport[]): Promise<TakenReports> {
  const node = (await store.nodes.find(nodeId)) ?? (await enrolledNode(store, { nodeId }));
  return store.processes.takeReports(reports.map((each) => ({ nodeId, epoch: node.epoch, report: each })));
}

/** What a session brings; of an instance that is none. */
export const newSession: NewSession = {
  instance: "inst_of_nobody",
  instanceId: "i",
  machineId: "m",
  bootId: "b",
  facts: {},
  clockSkewMs: null,
  now: noon,
};

export const auditEntry = (change: Partial<AuditEntry> = {}): AuditEntry => ({
  ...{ id: newId("aud"), at: noon, requestId: newId("req") },
  ...{ actorKind: "token", actorId: newId("tok"), actorName: "ci", address: "192.0.2.1" },
  ...{ operation: "startProcess", objectKind: "process", objectId: null, nodeId: null, nodeName: null },
  ...{ input: { command: "uname -a" }, status: 201, code: null },
  ...change,
});
