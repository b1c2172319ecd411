import type { EnrollBody, JoinTokenBody, NodeFacts, NodeLoad } from "#shared/api/node.ts";
import type { Hold, Maintenance } from "#shared/node-hold.ts";
import type { StreamName } from "#shared/streams.ts";
import type { EndReason, ProcessStatus } from "#shared/process-state.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Instances, Leases, Letters, Notices } from "./cluster.ts";
import type { Events } from "./events.ts";
import type { Presence } from "./presence.ts";

export type { EventPosition, EventRow, NewEvent } from "./events.ts";
export type { NodeSign } from "./presence.ts";
import type { Fanouts } from "./fanouts.ts";

export type * from "./fanouts.ts";

/**
 * What Drover remembers, as nouns with verbs. Everything here is one transaction each; a method that returns
 * has committed. Expected outcomes are values (`taken`, `mismatch`, undefined for "no such row"), a lost database throws.
 * Times go in and out as Date and are the caller's `now`, the control plane's clock.
 */
export interface Store {
  nodes: Nodes;
  joinTokens: JoinTokens;
  processes: Processes;
  idempotency: Idempotency;
  events: Events;
  instances: Instances;
  leases: Leases;
  letters: Letters;
  notices: Notices;
  fanouts: Fanouts;
  /** Resolves when the database answers and its schema is current; else says what to do. */
  ready(): Promise<{ ready: true } | { ready: false; reason: string }>;
  close(): Promise<void>;
}

export type NodeRow = Maintenance & {
  id: string;
  name: string;
  keyHash: string;
  labels: Record<string, string>;
  facts: NodeFacts;
  load: NodeLoad | null;
  maxProcesses: number;
  epoch: number;
  instanceId: string | null;
  machineId: string | null;
  bootId: string | null;
  /** The living instance whose process has the node's socket. */
  heldBy: string | null;
  /** Set while a session holds the node's socket. */
  connectedAt: Date | null;
  /** When the last session ended (unclean) or said goodbye (`orderly`). */
  disconnectedAt: Date | null;
  orderly: boolean;
  /** Since when it counts as offline, which was told; null while it is online or unreachable. */
  offlineAt: Date | null;
  lastSeenAt: Date | null;
  /** The node's clock less the control plane's, as measured last; for people, no time is ever made of it. */
  clockSkewMs: number | null;
  createdAt: Date;
  /** Processes alive there (starting, running, stopping, or ended with survivors) and waiting ones. */
  running: number;
  queued: number;
};

export type ListNodes = { limit: number; after?: string | undefined };

export interface Nodes extends Presence {
  /** By id or by name. */
  find(idOrName: string): Promise<NodeRow | undefined>;
  /** All nodes newest first, after the id `after`; selector and presence are matched by the caller. */
  list(query: ListNodes): Promise<NodeRow[]>;
  /** Only the fields given; `taken` when the name belongs to another node. */
  patch(
    id: string,
    change: {
      name?: string | undefined;
      labels?: Record<string, string> | undefined;
      maxProcesses?: number | undefined;
    },
  ): Promise<NodeRow | "taken" | undefined>;
  /** Deletes the node and ends its unfinished processes as lost/node_deleted (one transaction); false if unknown. */
  delete(id: string, now: Date): Promise<boolean>;
  /** The key hash of a node for the upgrade request of its agent. */
  keyHash(id: string): Promise<string | undefined>;
  /**
   * A new session takes the node: the epoch is raised, the facts of the hello are stored, maxProcesses too. Only from nobody, a
   * dead instance, this one, an earlier socket of the same agent, or the session of the epoch `from`; else it is `held`.
   * Told of as `node.online`, if it was away.
   */
  connected(id: string, hello: NewSession): Promise<SessionOutcome>;
  /** The session of this epoch ended, told of as `node.unreachable` (orderly: `node.offline`); an older epoch changes nothing. */
  disconnected(id: string, end: { epoch: number; orderly: boolean; now: Date }): Promise<void>;
  /** What the session that holds a node has to know of its row. */
  state(id: string): Promise<NodeState | undefined>;
  /** Of these nodes, those whose socket another instance than `instance` has. */
  heldElsewhere(ids: string[], instance: string): Promise<string[]>;
  /** Begins or changes a drain (`null` ends it). When it returns, no start that did not see it is still on its way in. */
  setDrain(
    id: string,
    drain: { reason: string; deadlineAt: Date | null } | null,
  ): Promise<NodeRow | undefined>;
  /**
   * Leases the node under `leaseId`. A lease that lasts and whose id is `heldId` is renewed and keeps its id; any
   * other that lasts is `taken`. Like a drain, it holds for every start from its return on.
   */
  lease(
    id: string,
    lease: { leaseId: string; heldId: string | undefined; reason: string; expiresAt: Date; now: Date },
  ): Promise<{ outcome: "leased" | "renewed" | "taken"; node: NodeRow } | undefined>;
  /** Ends the lease, of this id only if one is given; `other` when another one lasts. */
  release(
    id: string,
    lease: { heldId: string | undefined; now: Date },
  ): Promise<{ outcome: "released" | "other"; node: NodeRow } | undefined>;
  /** Nodes with a lease that is over and not cleared yet. */
  leasesOver(now: Date): Promise<string[]>;
  /** Clears leases that are over. */
  clearLeases(ids: string[], now: Date): Promise<void>;
  /** Replaces the key, if its hash is still `from` and the session of this epoch is still the newest; says whether it did. */
  rotateKey(id: string, key: { from: string; to: string; epoch: number }): Promise<boolean>;
}

export type NewSession = {
  instance: string;
  /** Takes the node from the session of this epoch too. */
  from?: number | undefined;
  instanceId: string;
  machineId: string;
  bootId: string;
  facts: NodeFacts;
  clockSkewMs: number | null;
  now: Date;
};

/** `queued`: a start waits for a place. */
export type NodeState = {
  name: string;
  epoch: number;
  heldBy: string | null;
  maxProcesses: number;
  queued: boolean;
};

export type SessionOutcome =
  | {
      outcome: "connected";
      epoch: number;
      name: string;
      /** Of the key that is in force. */
      keyHash: string;
      maxProcesses: number;
      /** Whether there is a process that is not final or has survivors: nothing has to be compared else. */
      unfinished: boolean;
      /** The machine of the session before, if it was another one. */
      formerMachineId: string | null;
    }
  /** The socket of `epoch` is at another instance and must prove that it lives. */
  | { outcome: "held"; epoch: number; heldBy: string }
  | { outcome: "unknown" };

export type JoinTokenRow = JoinTokenBody & {
  id: string;
  hash: string;
  expiresAt: Date;
  createdAt: Date;
  uses: number;
};
export type EnrollOutcome =
  | { outcome: "enrolled" | "repeated"; node: NodeRow; replacedNodeId?: string | undefined }
  | {
      outcome:
        | "bad_token"
        | "expired"
        | "used_up"
        | "name_mismatch"
        | "labels_refused"
        | "name_taken"
        | "name_online";
    };

export interface JoinTokens {
  create(token: JoinTokenRow): Promise<void>;
  find(id: string): Promise<JoinTokenRow | undefined>;
  /**
   * Uses up one place of the token and makes the node `nodeId`, in one transaction: a repeat with the same token and key hash
   * gives the same node and uses nothing. A name in use is `name_taken`, or `name_online` where the token says replace, unless it says so and that node has no session
   * (`connectedAt` null): then the node keeps its id, gets the new key, and its unfinished processes become lost/agent_state_lost.
   * Labels: the token's win over the agent's.
   */
  enroll(
    input: EnrollBody & { tokenHash: string; nodeId: string; now: Date; defaultMaxProcesses: number },
  ): Promise<EnrollOutcome>;
}

/** env and stdin text of a start, sealed; the rest of the launch is plain. */
export type NewProcess = {
  id: string;
  nodeId: string;
  /** Whose claim on the node this start is: it is stored once, and only while the claim stands. */
  fanoutId: string | null;
  key: string | null;
  /** Keyed digest of the whole input, for `key`. */
  digest: string;
  launch: Launch;
  sealed: Uint8Array | null;
  background: boolean;
  labels: Record<string, string>;
  status: "queued" | "starting";
  ifOffline: "fail" | "queue";
  queueTtlMs: number;
  /** The lease of its node that the start names, if it does. */
  leaseId?: string | undefined;
  /** A `queued` one is stored only where its key was seen. */
  queueFull?: boolean | undefined;
  createdAt: Date;
};

export type ProcessRow = Omit<NewProcess, "status" | "sealed" | "digest" | "leaseId" | "queueFull"> & {
  /** Without env (empty) and with stdin text emptied: those are sealed. */
  launch: Launch;
  status: ProcessStatus;
  reason: EndReason | null;
  detail: string | null;
  exitCode: number | null;
  signal: string | null;
  pid: number | null;
  cwd: string | null;
  startedAt: Date | null;
  exitedAt: Date | null;
  durationMs: number | null;
  observedAt: Date | null;
  revision: number;
  totalBytes: number;
  omittedBytes: number;
  lines: number | null;
  survivors: { pid: number; command: string }[];
  /** A stop that was asked for; kept until the ending, so that a reconnect asks again. */
  stop: { graceMs: number; reason: EndReason } | null;
};

export type ProcessReport = {
  id: string;
  revision: number;
  status: ProcessStatus;
  reason: EndReason | null;
  detail: string | null;
  exitCode: number | null;
  signal: string | null;
  pid: number | null;
  cwd: string | null;
  startedAt: Date | null;
  exitedAt: Date | null;
  durationMs: number | null;
  observedAt: Date;
  totalBytes: number;
  omittedBytes: number;
  lines: number | null;
  survivors: { pid: number; command: string }[];
  snapshots: { stream: StreamName; head: Uint8Array; tail: Uint8Array; totalBytes: number }[];
};

/** A report and the session that it came by. */
export type SentReport = { nodeId: string; epoch: number; report: ProcessReport };
export type TakenReports = { changed: string[]; unknown: string[]; outdated: string[] };

export type StoredOutput = { stream: StreamName; head: Uint8Array; tail: Uint8Array; totalBytes: number };

export type InsertOutcome =
  | { outcome: "inserted"; process: ProcessRow }
  | { outcome: "attached"; process: ProcessRow }
  | { outcome: "mismatch" | "start_canceled" | "queue_full" | "claim_gone" }
  | { outcome: "held"; hold: Hold };

export type UnconfirmedStart = Pick<ProcessRow, "id" | "nodeId" | "ifOffline"> & Pick<NodeRow, "heldBy">;

export type ListProcesses = {
  nodeId?: string | undefined;
  chatId?: string | undefined;
  fanoutId?: string | undefined;
  statuses?: ProcessStatus[] | undefined;
  labels?: Record<string, string> | undefined;
  limit: number;
  after?: string | undefined;
};

export interface Processes {
  /**
   * Stores a start. With a key (scoped by chat, or by node without a chat) seen before: the existing process if the digest matches.
   * On a node that drains, or is leased (at `createdAt`) and not to this start, nothing is stored: `held`.
   */
  insert(start: NewProcess): Promise<InsertOutcome>;
  get(id: string): Promise<ProcessRow | undefined>;
  list(query: ListProcesses): Promise<ProcessRow[]>;
  /** The sealed part of a start, while it is not final. */
  sealed(id: string): Promise<Uint8Array | null>;
  outputs(id: string): Promise<StoredOutput[]>;
  /** Every row of the node that is not final, oldest first, and those that ended with survivors. */
  unfinished(nodeId: string): Promise<ProcessRow[]>;
  /** Queued rows of the node, oldest first, become `starting`; returns them. None while it drains; while it is leased those of the lease. */
  takeQueued(nodeId: string, limit: number, now: Date): Promise<ProcessRow[]>;
  /** How many starts wait on all nodes. */
  countQueued(): Promise<number>;
  /** `starting` rows that were never pushed (the socket had gone) go back to `queued`, only if no report came. */
  putBack(ids: string[]): Promise<void>;
  /**
   * Many reports, also of many nodes, in one statement. A report counts only for a row of its node with a lower revision, and only while
   * the session of its epoch is the newest of that node; its state is taken by the rules of
   * `mayAdvance`, its totals, survivors and snapshots always. Reaching a final state removes the sealed part. Returns the ids whose row changed,
   * of ids that are unknown, that they are (deleted meanwhile), and those that a session too old sent.
   */
  takeReports(reports: SentReport[]): Promise<TakenReports>;
  /**
   * Remembers that a stop was asked for (the first reason stays, a smaller grace wins). A queued row becomes canceled at once, a starting or running one `stopping`
   * only when running. Ended rows stay as they are (with survivors: the stop is remembered). Returns the row after it.
   */
  requestStop(
    id: string,
    stop: { graceMs: number; reason: EndReason; now: Date },
  ): Promise<ProcessRow | undefined>;
  /**
   * Asks whatever lives on nodes whose drain is past its deadline to stop, with its own grace, as `node_drained` (a stop asked
   * for before keeps its reason). Returns those newly asked, and those that should be gone for long and have to be told again.
   */
  stopDrained(now: Date): Promise<{ id: string; nodeId: string; stop: NonNullable<ProcessRow["stop"]> }[]>;
  /** What was asked to stop and lives, on the nodes that this instance holds. */
  askedToStop(
    instance: string,
  ): Promise<{ id: string; nodeId: string; stop: NonNullable<ProcessRow["stop"]> }[]>;
  setTimeoutMs(id: string, timeoutMs: number): Promise<ProcessRow | undefined>;
  /** Fences a key: `canceled` when it was never seen (a later start finds start_canceled), else the process of that key. */
  fenceKey(scope: {
    nodeId: string;
    chatId: string | null;
    key: string;
    now: Date;
  }): Promise<{ outcome: "fenced" } | { outcome: "found"; process: ProcessRow }>;
  /** Ends rows by rule (lost, expired) if they are still not final; returns the ids that changed. */
  conclude(
    ids: string[],
    ending: {
      status: "lost" | "expired" | "canceled";
      reason: EndReason | null;
      now: Date;
      onlyStatuses: ProcessStatus[];
      onlyUnreported?: boolean;
    },
  ): Promise<string[]>;
  /** What lived on after these ended is no longer known of. */
  dropSurvivors(ids: string[]): Promise<void>;
  /** Queued rows past their time: `queue_ttl` for those that may queue, `not_delivered` for the others once `confirmBefore` is later than their creation. */
  expireQueued(now: Date, confirmBefore: Date): Promise<string[]>;
  /** `starting` rows without any report that were handed out before this time, and who has their node's socket. */
  unconfirmed(before: Date): Promise<UnconfirmedStart[]>;
  /** The node has these starts, though no report came yet: they wait for its next hello, however late that is. */
  confirm(ids: string[]): Promise<void>;
  /** Deletes an ended row (and its outputs); `not_ended` if it is live or has survivors. */
  delete(id: string): Promise<"deleted" | "not_ended" | "unknown">;
  /** Deletes ended rows that ended before this time; returns how many, at most `limit`. */
  prune(before: Date, limit: number): Promise<number>;
}

export interface Idempotency {
  /**
   * Runs `create` once for a key. The first call inserts the claim, with the id that `create` is going to give its object
   * (it answers the id, since it may find that there is one already); a call during it waits for it, a later one gets
   * the id. `mismatch` when the digest differs. A `create` that failed
   * frees the key, unless its object is there: then that is what a repeat gets.
   */
  once(
    claim: { scope: string; key: string; digest: string; objectId: string; instance: string; now: Date },
    create: () => Promise<string>,
  ): Promise<{ outcome: "created" | "replayed"; objectId: string } | { outcome: "mismatch" }>;
  /** Forgets claims older than this. */
  prune(before: Date): Promise<number>;
}
