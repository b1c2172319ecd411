import type { EnrollBody, JoinTokenBody, NodeFacts, NodeLoad } from "#shared/api/node.ts";
import type { Maintenance } from "#shared/node-hold.ts";
import type { Presence } from "./presence.ts";
import type { Sight } from "./sight.ts";

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

export type ListNodes = { limit: number; after?: string | undefined; within?: Sight | undefined };

export interface Nodes extends Presence {
  /** By id or by name, if it is seen. */
  find(idOrName: string, within?: Sight): Promise<NodeRow | undefined>;
  /** All nodes that are seen newest first, after the id `after`; what else is asked of them is matched by the caller. */
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
  /** The nodes that this instance holds and that were not heard of since. */
  unheard(instance: string, since: Date): Promise<string[]>;
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
  | {
      outcome: "enrolled" | "repeated";
      node: NodeRow;
      joinTokenId: string;
      replacedNodeId?: string | undefined;
    }
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
