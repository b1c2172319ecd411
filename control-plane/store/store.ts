import type { ConsoleSessions, SignInCodes } from "./console-sessions.ts";
import type { Audit } from "./audit.ts";
import type { Instances, Leases, Letters, Notices } from "./cluster.ts";
import type { Events } from "./events.ts";
import type { Fanouts } from "./fanouts.ts";
import type { JoinTokens, Nodes } from "./nodes.ts";
import type { Policies } from "./policies.ts";
import type { Processes } from "./processes.ts";
import type { SealedValues } from "./sealed-values.ts";
import type { Secrets } from "./secrets.ts";
import type { Tokens } from "./tokens.ts";

export type { ConsoleSession, SessionUser } from "./console-sessions.ts";
export type { AuditEntry, AuditFilter, AuditPosition } from "./audit.ts";
export type { EventPosition, EventRow, NewEvent } from "./events.ts";
export type * from "./fanouts.ts";
export type * from "./nodes.ts";
export type { StoredPolicy } from "./policies.ts";
export type { NodeSign } from "./presence.ts";
export type * from "./processes.ts";
export type { SealedPlace } from "./sealed-values.ts";
export type { SecretRow } from "./secrets.ts";
export type { Sight } from "./sight.ts";
export type { TokenRow } from "./tokens.ts";

/**
 * What Drover remembers, as nouns with verbs. Everything here is one transaction each; a method that returns
 * has committed. Expected outcomes are values (`taken`, `mismatch`, undefined for "no such row"), a lost database throws.
 * Times go in and out as Date and are the caller's `now`, the control plane's clock.
 */
export interface Store {
  nodes: Nodes;
  joinTokens: JoinTokens;
  tokens: Tokens;
  signInCodes: SignInCodes;
  consoleSessions: ConsoleSessions;
  processes: Processes;
  idempotency: Idempotency;
  events: Events;
  instances: Instances;
  leases: Leases;
  letters: Letters;
  notices: Notices;
  fanouts: Fanouts;
  policies: Policies;
  secrets: Secrets;
  sealedValues: SealedValues;
  audit: Audit;
  /** Resolves when the database answers and its schema is current; else says what to do. */
  ready(): Promise<{ ready: true } | { ready: false; reason: string }>;
  close(): Promise<void>;
}

export interface Idempotency {
  /**
   * Runs `create` once for a key. The first call inserts the claim, with the id that `create` is going to give its object
   * (it answers the id, since it may find that there is one already); a call during it waits for it, a later one gets
   * the id. `mismatch` when the digest differs. A `create` that failed
   * frees the key, unless its object is there: then that is what a repeat gets.
   */
  once(
    claim: {
      scope: string;
      key: string;
      digest: string;
      /** What the digest was before the secret key was replaced. */
      olderDigests?: string[];
      objectId: string;
      instance: string;
      now: Date;
    },
    create: () => Promise<string>,
  ): Promise<{ outcome: "created" | "replayed"; objectId: string } | { outcome: "mismatch" }>;
  /** Forgets claims older than this. */
  prune(before: Date): Promise<number>;
}
