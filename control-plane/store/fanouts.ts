import type { ProcessTemplate } from "#shared/api/process.ts";
import type { FanoutCounts, FanoutNodeStatus, FanoutStatus, Share } from "#shared/fanout-state.ts";
import type { StreamName } from "#shared/streams.ts";
import type { Sight } from "./sight.ts";

/** What was asked of the order of starts. */
export type FanoutPlan = {
  parallel: Share | null;
  staggerMs: number | null;
  canary: number | null;
  maxFailures: Share | null;
  ifOffline: "fail" | "queue";
  expiresMs: number | null;
  /** Failures that somebody has seen and gone on after: only later ones count. */
  acceptedFailures: number;
};

export type NewFanout = {
  id: string;
  selector: string;
  /** Without env (empty) and with stdin text emptied: those are sealed. */
  process: ProcessTemplate;
  sealed: Uint8Array | null;
  plan: FanoutPlan;
  /** The token of whoever made it: its starts keep to the scope of that; null: the admin token of the settings. */
  createdBy: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  /** In the order of starts. */
  nodes: { id: string; name: string }[];
};

export type FanoutRow = Omit<NewFanout, "sealed" | "nodes"> & {
  status: FanoutStatus;
  reason: string | null;
  lastStartAt: Date | null;
  endedAt: Date | null;
  counts: FanoutCounts;
};

export type FanoutNodeRow = {
  nodeId: string;
  nodeName: string;
  position: number;
  status: FanoutNodeStatus;
  reason: string | null;
  /** Given with the claim, before the start; null again when that start was taken back. */
  processId: string | null;
  attempt: number;
  exitCode: number | null;
  sha256: string | null;
  /** When the process was stored: null while it is only claimed. */
  startedAt: Date | null;
  endedAt: Date | null;
};

/** One start that a node was claimed for. */
export type Claim = { nodeId: string; processId: string };

/** What becomes of a fan-out now; `room`: how many more nodes may start at this moment. */
export type Outlook = Pick<FanoutRow, "status" | "reason"> & {
  /** Its time has passed: what waits is skipped, and the outlook is asked for again. */
  expire: boolean;
  room: number;
  /** When to look again without being told; null: only when something changes. */
  lookAt: Date | null;
};

export type Advance = {
  now: Date;
  outlook(fanout: FanoutRow): Outlook;
  newProcessId(): string;
  /** A node that went away after the fan-out was made is waited for this long. */
  graceMs: number;
  /** Claims that were not started this long after the last one are given out again. */
  staleMs: number;
  /** Nodes claimed or skipped at once, at most. */
  batch: number;
};

/** `busy`: another one is at it; `closed`: final or unknown. */
export type Advanced =
  | { outcome: "busy" | "closed" }
  | {
      outcome: "advanced";
      fanout: FanoutRow;
      changed: boolean;
      /** Processes whose ending was taken over. */
      ended: string[];
      starts: Claim[];
      /** Processes that still have to be asked to stop. */
      stops: string[];
      lookAt: Date | null;
    };

export type FanoutGroupRow = {
  count: number;
  nodes: string[];
  status: FanoutNodeStatus;
  exitCode: number | null;
  sha256: string;
  /** One process of the group; all wrote the same. */
  processId: string;
};

export type KeptOutput = { stream: StreamName; head: Uint8Array; tail: Uint8Array; totalBytes: number };

export type Refusal = Claim & { status: "waiting" | "skipped"; reason: string | null };

type Page<Place> = { limit: number; after?: Place | undefined; within?: Sight | undefined };

/** Whoever sees a part of the fleet sees of a fan-out that has a node there only what is on such nodes, in its counts, too. */
export interface Fanouts {
  /** Stores the fan-out as running with all its nodes waiting. */
  create(fanout: NewFanout): Promise<void>;
  get(id: string, within?: Sight): Promise<FanoutRow | undefined>;
  /** Newest first, after the id `after`. */
  list(query: Page<string>): Promise<FanoutRow[]>;
  /** Whether all its nodes are seen. */
  isWithin(id: string, within: Sight): Promise<boolean>;
  sealed(id: string): Promise<Uint8Array | null>;
  /** The ids of those that are not final. */
  open(): Promise<string[]>;
  /**
   * One step, by one caller at a time: endings of processes are taken over, then the outlook decides, then nodes are skipped
   * or claimed: `running` with the id of their process, which is not stored yet. A claim becomes a process by
   * `processes.insert` with this fan-out (once, and only while the claim stands), or is taken back by `refuse`, a pause or a cancel.
   */
  advance(id: string, advance: Advance): Promise<Advanced>;
  /** Takes claims back that were not started. */
  refuse(id: string, refusals: Refusal[], now: Date): Promise<void>;
  /** Processes of started nodes whose ending was not taken over. */
  running(id: string): Promise<string[]>;
  /** Takes unstarted claims back; changes nothing but a fan-out that is running and not being canceled. */
  pause(id: string, reason: string): Promise<void>;
  /** Accepts the failures so far; changes only a paused one. */
  resume(id: string): Promise<void>;
  /** Nodes that wait or are only claimed become canceled, and the fan-out `canceling`; changes nothing of a final one. */
  cancel(id: string, now: Date): Promise<void>;
  /** Every node that ended without success waits again as a new attempt; returns how many (0 also while it is being canceled). */
  retry(id: string, now: Date): Promise<number>;
  /** In the order of starts, after the position `after`. */
  nodes(id: string, query: Page<number>): Promise<FanoutNodeRow[]>;
  /** All nodes that do not wait. */
  begun(id: string, within?: Sight): Promise<FanoutNodeRow[]>;
  /** Ended nodes whose processes ended alike, the largest groups first, and how many groups there are. */
  groups(
    id: string,
    bounds: { groups: number; names: number; within?: Sight | undefined },
  ): Promise<{ groups: FanoutGroupRow[]; groupCount: number }>;
  /** What is kept of the output of ended processes; one with bytes that were never reported is left out. */
  kept(processIds: string[]): Promise<Map<string, KeptOutput[]>>;
  /** Deletes those that ended before this time, at most `limit`; returns how many. */
  prune(before: Date, limit: number): Promise<number>;
}
