import type { Hold } from "#shared/node-hold.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { EndReason, ProcessStatus } from "#shared/process-state.ts";
import type { StreamName } from "#shared/streams.ts";
import type { NodeRow } from "./nodes.ts";
import type { Sight } from "./sight.ts";

/** env and stdin text of a start, sealed; the rest of the launch is plain. */
export type NewProcess = {
  id: string;
  nodeId: string;
  /** Whose claim on the node this start is: it is stored once, and only while the claim stands. */
  fanoutId: string | null;
  key: string | null;
  /** Keyed digest of the whole input, for `key`. */
  digest: string;
  /** What it was before the secret key was replaced. */
  olderDigests?: string[] | undefined;
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

/** What an agent tells of a process, as its row keeps it. */
type Told = {
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
  totalBytes: number;
  omittedBytes: number;
  lines: number | null;
  survivors: { pid: number; command: string }[];
};

export type ProcessRow = Omit<
  NewProcess,
  "status" | "sealed" | "digest" | "olderDigests" | "leaseId" | "queueFull"
> &
  Told & {
    /** Without env (empty) and with stdin text emptied: those are sealed. */
    launch: Launch;
    observedAt: Date | null;
    /** How often the start was taken in hand after it was stored (see `StartInHand`). */
    handOut: number;
    /** A stop that was asked for; kept until the ending, so that a reconnect asks again. */
    stop: { graceMs: number; reason: EndReason } | null;
  };

/** A start in somebody's hands: the number says in whose. Who takes it raises the number, and whoever had it has it no more. */
export type HandOut = Pick<ProcessRow, "id" | "handOut">;
/** What was taken in hand, with all that is sent. */
export type StartInHand = ProcessRow & { sealed: Uint8Array | null };

/** How a start ends that its node never said a word of. */
export type UnheardEnding =
  | { status: "canceled"; reason: null }
  | { status: "expired"; reason: "queue_ttl" | "not_delivered" }
  | { status: "lost"; reason: "unconfirmed" }
  | { status: "failed"; reason: "secret_not_found" | "secret_unreadable"; detail: string };

export type ProcessReport = Told & {
  id: string;
  observedAt: Date;
  snapshots: { stream: StreamName; head: Uint8Array; tail: Uint8Array; totalBytes: number }[];
};

/** A report and the session that it came by. */
export type SentReport = { nodeId: string; epoch: number; report: ProcessReport };
export type TakenReports = { changed: string[]; unknown: string[]; unwanted: string[]; outdated: string[] };

export type StoredOutput = { stream: StreamName; head: Uint8Array; tail: Uint8Array; totalBytes: number };

export type InsertOutcome =
  | { outcome: "inserted"; process: ProcessRow }
  | { outcome: "attached"; process: ProcessRow }
  | { outcome: "mismatch" | "start_canceled" | "queue_full" | "claim_gone" }
  | { outcome: "held"; hold: Hold };

export type UnconfirmedStart = HandOut & Pick<ProcessRow, "nodeId" | "ifOffline"> & Pick<NodeRow, "heldBy">;

export type ListProcesses = {
  nodeId?: string | undefined;
  chatId?: string | undefined;
  fanoutId?: string | undefined;
  statuses?: ProcessStatus[] | undefined;
  labels?: Record<string, string> | undefined;
  limit: number;
  after?: string | undefined;
  /** Only what is seen. */
  within?: Sight | undefined;
};

export interface Processes {
  /**
   * Stores a start. With a key (scoped by chat, or by node without a chat) seen before: the existing process if the digest matches.
   * On a node that drains, or is leased (at `createdAt`) and not to this start, nothing is stored: `held`.
   */
  insert(start: NewProcess): Promise<InsertOutcome>;
  /** The process, if it is seen. */
  get(id: string, within?: Sight): Promise<ProcessRow | undefined>;
  list(query: ListProcesses): Promise<ProcessRow[]>;
  /** The sealed part of a start, while it is not final. */
  sealed(id: string): Promise<Uint8Array | null>;
  outputs(id: string): Promise<StoredOutput[]>;
  /** Every row of the node that is not final, oldest first, and those that ended with survivors. */
  unfinished(nodeId: string): Promise<ProcessRow[]>;
  /** Queued rows of the node, oldest first, become `starting`; returns them. None while it drains; while it is leased those of the lease. */
  takeQueued(nodeId: string, limit: number, now: Date): Promise<StartInHand[]>;
  /** Takes a start from whoever gives it away; undefined if that one has it no more, or its node was heard of it. */
  takeOver(start: HandOut): Promise<StartInHand | undefined>;
  /** Takes those that are `starting` without any report, from whoever has them, for the newest session of their node; an older one gets none. */
  takeMissing(session: { nodeId: string; epoch: number }, ids: string[]): Promise<StartInHand[]>;
  /** How many starts wait on all nodes. */
  countQueued(): Promise<number>;
  /**
   * What was not sent goes back to `queued`, or becomes `canceled` where a stop was asked for: only what is still in these hands and
   * without any report. Returns the ids that changed.
   */
  putBack(starts: HandOut[], now: Date): Promise<string[]>;
  /** Ends what is still in these hands and without any report; returns the ids that changed. */
  endUnheard(starts: HandOut[], ending: UnheardEnding, now: Date): Promise<string[]>;
  /**
   * Many reports, also of many nodes, in one statement. A report counts only for a row of its node with a lower revision, and only while
   * the session of its epoch is the newest of that node; its state is taken by the rules of
   * `mayAdvance`, its totals, survivors and snapshots always. Reaching a final state removes the sealed part. Returns the ids whose row changed,
   * of ids that are unknown, that they are (deleted meanwhile), those that live though their row says they never will (`unwanted`), and
   * those that a session too old sent.
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
  /** Ends rows by rule if they are still not final; returns the ids that changed. */
  conclude(
    ids: string[],
    ending: {
      status: "lost" | "expired" | "canceled";
      reason: EndReason | null;
      now: Date;
      onlyStatuses: ProcessStatus[];
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
