import type { StreamName } from "#shared/streams.ts";
import type { Role } from "#shared/api/token.ts";
import type { PlainFrame, RequestFrame } from "#shared/link/frames.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Bus } from "./bus/bus.ts";
import type { QueueGauge } from "./queue-gauge.ts";
import type { HandOut, NodeSign, Sight, Store } from "./store/store.ts";

/** What every action may use; the entry of a runtime builds it once. */
export interface Needs {
  store: Store;
  bus: Bus;
  hub: NodeHub;
  seal: Seal;
  queue: QueueGauge;
  /** Undefined where none is set up. */
  provider?: IdentityProvider | undefined;
  config: Config;
  log: Log;
  /** On whose behalf something is done sees only this part of the fleet; the store shows nothing else then. */
  within?: Sight;
  /** The id of this control plane among those that share the database. */
  instance: string;
  now(): Date;
}

export type Config = {
  /** SHA-256 (hex) of the admin token. */
  adminTokenHash: string;
  /** Where clients reach the control plane, without a slash at the end; used in join commands. */
  publicUrl: string;
  version: string;
  /** Ended processes are deleted after this time. */
  retentionMs: number;
  /** Entries of the audit are deleted after this time. */
  auditRetentionMs: number;
  /** What ran on a node that has been away for this time is lost (`node_gone`). */
  nodeGoneMs: number;
  signIn: SignInConfig;
  limits: Limits;
};

/** What is granted to one token or address by one instance; 0 for no limit. */
export type Limits = {
  /** Each second, and twice as many at once. */
  requestsPerToken: number;
  /** The same for routes that need no token. */
  requestsPerAddress: number;
  /** Requests without a valid token, from one address. */
  failedPerMinute: number;
  /** Long polls, streams and downloads of one token. */
  openPerToken: number;
};

export type SignInConfig = {
  /** How long a browser stays signed in without a request, and at all. */
  idleMs: number;
  maxMs: number;
  /** Undefined: by links and tokens only. */
  oidc: OidcSettings | undefined;
};

export type OidcSettings = {
  issuer: string;
  clientId: string;
  /** Undefined: a public client, which proves itself by PKCE alone. */
  clientSecret: string | undefined;
  /** What is asked for, `openid` among it. */
  scope: string;
  /** The claim of the ID token with the groups of a person. */
  groupsClaim: string;
  /** By group; `*` is everybody whom the provider knows. */
  roles: Readonly<Record<string, Role>>;
};

/** What a sign-in that has begun is known by when the browser comes back. */
export type Pending = { state: string; nonce: string; verifier: string };
export type Person = { issuer: string; subject: string; name: string; groups: string[] };

/** Knows people. Where it cannot be asked at all, that is thrown as `unavailable`. */
export interface IdentityProvider {
  begin(redirectUri: string): Promise<{ url: string; pending: Pending }>;
  finish(
    callback: URL,
    pending: Pending,
    redirectUri: string,
  ): Promise<{ outcome: "known"; person: Person } | { outcome: "refused"; reason: string }>;
}

/** One wide event an operation: `log.info("process.started", { processId })`. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
  /** From now on this is shown by no line; unless for always, until many others were hidden after it. */
  hide(secret: string, until?: "always"): void;
}

/** Seals secrets for the database (AES-256-GCM, bound to `context`) and digests inputs (HMAC-SHA-256, hex) with DROVER_SECRET_KEY. */
export interface Seal {
  /** Which key seals: 8 hex digits that say nothing of it. */
  readonly keyId: string;
  /** What begins everything that this key sealed. */
  readonly mark: Uint8Array;
  seal(text: string, context: string): Promise<Uint8Array>;
  /** Rejects with `CannotOpen`, for one where the key is not set any more. */
  open(sealed: Uint8Array, context: string): Promise<string>;
  digest(text: string): Promise<string>;
  /** What the digest was under the keys before the current one. */
  olderDigests(text: string): Promise<string[]>;
}

export type RequestWithoutId = RequestFrame extends infer F
  ? F extends { rid: string }
    ? Omit<F, "rid">
    : never
  : never;

/** Expected outcomes of a request to a node; `no_answer`: the socket went or the time ran out, so what happened is unknown. */
export type RequestOutcome =
  | { outcome: "ok"; value: unknown }
  | { outcome: "refused"; code: string; message: string }
  | { outcome: "offline" }
  | { outcome: "no_answer" };

/** One piece of a followed stream; a gap has no bytes. */
export type OutputChunk = { from: number; to: number; bytes: Uint8Array | null };

export type LiveSign = Pick<NodeSign, "load" | "lastSeenAt" | "clockSkewMs">;

/** The nodes, wherever their sockets are: in this process, or at another instance that shares the database. */
export interface NodeHub {
  /** The id of a node whose socket is in this process, by its id or name: no question to anybody. */
  here(idOrName: string): string | undefined;
  /** Whether a live socket exists, here or at another instance. */
  online(nodeId: string): Promise<boolean>;
  /** Those of the nodes that have one. */
  onlineAmong(nodeIds: string[]): Promise<ReadonlySet<string>>;
  /** What was heard last of a node that is here. */
  sign(nodeId: string): LiveSign | undefined;
  /** Sends a frame as a hint: what it asks for is a row too, and a holder that did not get it looks there. */
  push(nodeId: string, frame: PlainFrame): void;
  /**
   * Sends a start and counts it as alive on a node that is here; false when it is not, the node is full or the start
   * is larger than a frame (`dispatchStart` of link/dispatch.ts knows what to do then). A repeat of an id takes no new place.
   */
  start(nodeId: string, launch: Launch): boolean;
  /** How many more processes a node that is here takes now (its maxProcesses less what is alive there); else 0. */
  free(nodeId: string): number;
  /** Runs rounds of dispatching to a node that is here one after the other; who asks during one shares the next. */
  inTurn(nodeId: string, round: () => Promise<void>): Promise<void>;
  /** Gives a start to the other instance that holds the node, or lets it look at its queue; false when none holds it. */
  dispatchElsewhere(nodeId: string, start?: HandOut): Promise<boolean>;
  /** Whether a node that is here confirmed that it has this process (accepted frame, report or inventory), or cannot be asked yet. */
  confirmed(nodeId: string, processId: string): boolean;
  /** When a start was last sent on a live socket that is here; undefined when it was not. */
  sentAt(nodeId: string, processId: string): Date | undefined;
  request(
    nodeId: string,
    frame: RequestWithoutId,
    limit: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<RequestOutcome>;
  /**
   * Follows a stream from an offset: chunks in order without loss or repeat until the signal aborts or the socket goes
   * (the iteration then ends; the caller may follow again from where it was). Credit is given when a chunk was taken.
   */
  follow(
    nodeId: string,
    what: { id: string; stream: StreamName; from: number },
    signal: AbortSignal,
  ): AsyncIterable<OutputChunk>;
  /** Closes the socket of a node that is here; another holder does it when it looks at the row. */
  disconnect(nodeId: string, code: number, reason: string): void;
}
