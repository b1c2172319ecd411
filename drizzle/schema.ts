// The tables, for drizzle-kit (which writes the migrations from them) and as the types of rows.
// At run time this file is imported for its types only: drizzle-orm costs a second and 170 MB to load.

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { NodeFacts, NodeLoad } from "#shared/api/node.ts";
import type { Role, TokenScope } from "#shared/api/token.ts";
import type { StreamName } from "#shared/streams.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { EndReason, ProcessStatus } from "#shared/process-state.ts";
import { bytes, idText, instant, transactionId } from "./columns.ts";

type Labels = Record<string, string>;

export const nodes = pgTable("nodes", {
  id: idText("id").primaryKey(),
  name: text("name").notNull().unique(),
  keyHash: text("key_hash").notNull(),
  joinTokenId: idText("join_token_id").notNull(),
  labels: jsonb("labels").$type<Labels>().notNull(),
  facts: jsonb("facts").$type<NodeFacts>().notNull(),
  load: jsonb("load").$type<NodeLoad>(),
  maxProcesses: integer("max_processes").notNull(),
  epoch: integer("epoch").notNull().default(0),
  instanceId: text("instance_id"),
  machineId: text("machine_id"),
  bootId: text("boot_id"),
  /** The instance whose process has the node's socket; null while no session holds the node. */
  heldBy: idText("held_by"),
  connectedAt: instant("connected_at"),
  disconnectedAt: instant("disconnected_at"),
  orderly: boolean("orderly").notNull().default(false),
  /** Since when it counts as offline, which was told; null while it is online or unreachable. */
  offlineAt: instant("offline_at"),
  lastSeenAt: instant("last_seen_at"),
  /** The node's clock less the control plane's, as measured last. */
  clockSkewMs: bigint("clock_skew_ms", { mode: "number" }),
  /** Set while the node drains. */
  drainReason: text("drain_reason"),
  drainDeadlineAt: instant("drain_deadline_at"),
  /** Exclusive maintenance: starts without this id are refused until it expires. */
  leaseId: text("lease_id"),
  leaseReason: text("lease_reason"),
  leaseExpiresAt: instant("lease_expires_at"),
  createdAt: instant("created_at").notNull(),
});

/** The control planes that share this database; one that was not seen for a while is dead and its nodes are free. */
export const instances = pgTable("instances", {
  id: idText("id").primaryKey(),
  /** Host and process, for operators. */
  place: text("place").notNull(),
  version: text("version").notNull(),
  startedAt: instant("started_at").notNull(),
  /** By the clock of the database. */
  seenAt: instant("seen_at").notNull(),
});

/** Letters between instances: only ids cross a notice, what they are about waits here until it is taken. Unlogged: a crash empties it. */
export const relay = pgTable(
  "relay",
  {
    id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
    recipient: idText("recipient").notNull(),
    sender: idText("sender").notNull(),
    body: text("body").notNull(),
    sentAt: instant("sent_at").notNull(),
  },
  (table) => [index("relay_recipient").on(table.recipient, table.id)],
);

/** "Only one at a time" between instances: who may do `name` until when. */
export const leases = pgTable("leases", {
  name: text("name").primaryKey(),
  holder: idText("holder").notNull(),
  until: instant("until").notNull(),
});

export const joinTokens = pgTable("join_tokens", {
  id: idText("id").primaryKey(),
  hash: text("hash").notNull().unique(),
  ttlMs: bigint("ttl_ms", { mode: "number" }).notNull(),
  maxUses: integer("max_uses").notNull(),
  uses: integer("uses").notNull(),
  nodeName: text("node_name"),
  labels: jsonb("labels").$type<Labels>().notNull(),
  allowLabels: boolean("allow_labels").notNull(),
  replace: boolean("replace").notNull(),
  expiresAt: instant("expires_at").notNull(),
  createdAt: instant("created_at").notNull(),
});

/** Who may use the API; the text of a token is shown once and not kept. One that is revoked is deleted. */
export const tokens = pgTable("tokens", {
  id: idText("id").primaryKey(),
  /** SHA-256 (hex) of the token. */
  hash: text("hash").notNull().unique(),
  name: text("name").notNull(),
  role: text("role").$type<Role>().notNull(),
  scope: jsonb("scope").$type<TokenScope>().notNull(),
  /** The token that made it; null: the admin token of the settings. */
  createdBy: idText("created_by"),
  createdAt: instant("created_at").notNull(),
  /** Null: never. */
  expiresAt: instant("expires_at"),
  /** To some minutes. */
  lastUsedAt: instant("last_used_at"),
});

/** Links that let a browser in once, as whoever made them. */
export const signInCodes = pgTable("sign_in_codes", {
  /** SHA-256 (hex) of the code. */
  hash: text("hash").primaryKey(),
  /** SHA-256 (hex) of the token that it lets in with. */
  tokenHash: text("token_hash").notNull(),
  expiresAt: instant("expires_at").notNull(),
});

/** Browsers that are signed in. */
export const consoleSessions = pgTable("console_sessions", {
  id: idText("id").primaryKey(),
  /** SHA-256 (hex) of what the cookie holds. */
  hash: text("hash").notNull().unique(),
  /** SHA-256 (hex) of the token that it acts for, which is looked up at each request; with `user`, of who that is. */
  tokenHash: text("token_hash").notNull(),
  /** Whom an identity provider knew. */
  user: jsonb("user").$type<{ name: string; role: Role }>(),
  createdAt: instant("created_at").notNull(),
  /** To a minute. */
  usedAt: instant("used_at").notNull(),
  expiresAt: instant("expires_at").notNull(),
});

/** No reference to nodes: the record of a process outlives its node. */
export const processes = pgTable(
  "processes",
  {
    id: idText("id").primaryKey(),
    nodeId: idText("node_id").notNull(),
    chatId: idText("chat_id"),
    fanoutId: idText("fanout_id"),
    key: text("key"),
    launch: jsonb("launch").$type<Launch>().notNull(),
    /** env and stdin text, encrypted; null from the final state on. */
    sealed: bytes("sealed"),
    background: boolean("background").notNull(),
    labels: jsonb("labels").$type<Labels>().notNull(),
    ifOffline: text("if_offline").$type<"fail" | "queue">().notNull(),
    queueTtlMs: bigint("queue_ttl_ms", { mode: "number" }).notNull(),
    /** The lease that its start named: from the queue of a leased node only those of its lease are handed out. */
    leaseId: text("lease_id"),
    status: text("status").$type<ProcessStatus>().notNull(),
    reason: text("reason").$type<EndReason>(),
    detail: text("detail"),
    exitCode: integer("exit_code"),
    signal: text("signal"),
    pid: integer("pid"),
    cwd: text("cwd"),
    revision: bigint("revision", { mode: "number" }).notNull().default(0),
    totalBytes: bigint("total_bytes", { mode: "number" }).notNull().default(0),
    omittedBytes: bigint("omitted_bytes", { mode: "number" }).notNull().default(0),
    lines: bigint("lines", { mode: "number" }),
    survivors: jsonb("survivors").$type<{ pid: number; command: string }[]>().notNull().default([]),
    stop: jsonb("stop").$type<{ graceMs: number; reason: EndReason }>(),
    createdAt: instant("created_at").notNull(),
    /** When it last left the queue towards its node; the time to confirm the start counts from here. */
    handedOutAt: instant("handed_out_at"),
    /** How often somebody took it in hand after it was stored; whoever did last decides about it (control-plane/link/dispatch.ts). */
    handOut: integer("hand_out").notNull().default(0),
    startedAt: instant("started_at"),
    exitedAt: instant("exited_at"),
    durationMs: bigint("duration_ms", { mode: "number" }),
    observedAt: instant("observed_at"),
    /** When the final state was stored; retention counts from here. */
    concludedAt: instant("concluded_at"),
  },
  (table) => [
    index("processes_of_node").on(table.nodeId, table.id),
    index("processes_of_chat")
      .on(table.chatId, table.id)
      .where(sql`chat_id is not null`),
    index("processes_of_fanout")
      .on(table.fanoutId, table.id)
      .where(sql`fanout_id is not null`),
    index("processes_labels")
      .using("gin", sql`labels jsonb_path_ops`)
      .where(sql`labels <> '{}'::jsonb`),
    index("processes_concluded")
      .on(table.concludedAt)
      .where(sql`concluded_at is not null`),
    index("processes_unfinished")
      .on(table.nodeId, table.id)
      .where(sql`concluded_at is null or survivors <> '[]'::jsonb`),
  ],
);

/** The head and tail of what a process wrote, as last reported. */
export const outputs = pgTable(
  "outputs",
  {
    processId: idText("process_id")
      .notNull()
      .references(() => processes.id, { onDelete: "cascade" }),
    stream: text("stream").$type<StreamName>().notNull(),
    head: bytes("head").notNull(),
    tail: bytes("tail").notNull(),
    totalBytes: bigint("total_bytes", { mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.processId, table.stream] })],
);

/** Who used a start key first: a process, or (without one) a cancel that fenced it. */
export const processKeys = pgTable(
  "process_keys",
  {
    scope: idText("scope").notNull(),
    key: text("key").notNull(),
    processId: idText("process_id").references(() => processes.id, { onDelete: "cascade" }),
    digest: text("digest"),
    createdAt: instant("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.scope, table.key] }),
    uniqueIndex("process_keys_process")
      .on(table.processId)
      .where(sql`process_id is not null`),
  ],
);

/** `object_id` is given with the claim; while it is not settled, its first call may still be at work. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    scope: text("scope").notNull(),
    key: text("key").notNull(),
    digest: text("digest").notNull(),
    objectId: idText("object_id").notNull(),
    settled: boolean("settled").notNull().default(false),
    claimedAt: instant("claimed_at").notNull(),
    /** The control plane that works for it. */
    claimedBy: idText("claimed_by"),
  },
  (table) => [
    primaryKey({ columns: [table.scope, table.key] }),
    index("idempotency_keys_age").on(table.claimedAt),
  ],
);

/** One command over every node that a selector matched when it was made. */
export const fanouts = pgTable(
  "fanouts",
  {
    id: idText("id").primaryKey(),
    selector: text("selector").notNull(),
    /** The body of each start, without its env and stdin text. */
    process: jsonb("process").$type<Record<string, unknown>>().notNull(),
    /** env and stdin text, encrypted; null once no more starts can follow. */
    sealed: bytes("sealed"),
    /** parallel, staggerMs, canary, maxFailures, ifOffline, expiresMs as they were asked for. */
    plan: jsonb("plan").$type<Record<string, unknown>>().notNull(),
    status: text("status").notNull(),
    reason: text("reason"),
    /** The token of whoever made it, whose scope it keeps; null: the admin token of the settings. */
    createdBy: idText("created_by"),
    createdAt: instant("created_at").notNull(),
    /** Nodes that still wait then are skipped; null: never. */
    expiresAt: instant("expires_at"),
    lastStartAt: instant("last_start_at"),
    endedAt: instant("ended_at"),
  },
  (table) => [
    index("fanouts_open")
      .on(table.id)
      .where(sql`ended_at is null`),
  ],
);

export const fanoutNodes = pgTable(
  "fanout_nodes",
  {
    fanoutId: idText("fanout_id")
      .notNull()
      .references(() => fanouts.id, { onDelete: "cascade" }),
    nodeId: idText("node_id").notNull(),
    nodeName: text("node_name").notNull(),
    /** The order of starts. */
    position: integer("position").notNull(),
    status: text("status").notNull(),
    reason: text("reason"),
    /** The process of the last attempt. */
    processId: idText("process_id"),
    attempt: integer("attempt").notNull().default(0),
    exitCode: integer("exit_code"),
    /** Of the output that is kept, for folding. */
    sha256: text("sha256"),
    startedAt: instant("started_at"),
    endedAt: instant("ended_at"),
  },
  (table) => [
    primaryKey({ columns: [table.fanoutId, table.nodeId] }),
    index("fanout_nodes_process")
      .on(table.processId)
      .where(sql`process_id is not null`),
  ],
);

/**
 * What happened, for those who follow everything. A reader goes by (transaction, id) and stops below the oldest open
 * transaction: by id alone it would pass over what a transaction that began late and commits late has numbered early.
 */
export const events = pgTable(
  "events",
  {
    id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
    transaction: transactionId("transaction")
      .notNull()
      .default(sql`pg_current_xact_id()`),
    at: instant("at").notNull(),
    type: text("type").notNull(),
    nodeId: idText("node_id"),
    data: jsonb("data").$type<Record<string, unknown>>().notNull(),
  },
  (table) => [index("events_position").on(table.transaction, table.id)],
);

/** What may be started; one row, `fleet`. */
export const policies = pgTable("policies", {
  name: text("name").primaryKey(),
  /** As it was given; whoever reads it checks its shape. */
  policy: jsonb("policy").$type<Record<string, unknown>>().notNull(),
  updatedAt: instant("updated_at").notNull(),
});

/** Named secrets: what processes refer to in their environment. */
export const secrets = pgTable("secrets", {
  name: idText("name").primaryKey(),
  sealed: bytes("sealed").notNull(),
  createdAt: instant("created_at").notNull(),
  updatedAt: instant("updated_at").notNull(),
});
/**
 * Who did what, where, and what came of it. Rows are added and never changed; a trigger (of its migration) refuses everything else,
 * but for the deletion of what a transaction that says so calls past its retention. No references: it outlives all it names.
 */
export const audit = pgTable(
  "audit",
  {
    at: instant("at").notNull(),
    id: idText("id").notNull(),
    actorKind: text("actor_kind").notNull(),
    actorId: idText("actor_id"),
    actorName: text("actor_name").notNull(),
    address: text("address"),
    operation: text("operation").notNull(),
    objectKind: text("object_kind").notNull(),
    objectId: idText("object_id"),
    nodeId: idText("node_id"),
    nodeName: text("node_name"),
    input: jsonb("input").$type<Record<string, unknown>>().notNull(),
    status: integer("status").notNull(),
    code: text("code"),
    requestId: idText("request_id").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.at, table.id] }),
    index("audit_of_actor")
      .on(table.actorId, table.at)
      .where(sql`actor_id is not null`),
    index("audit_of_object")
      .on(table.objectId, table.at)
      .where(sql`object_id is not null`),
    index("audit_of_node")
      .on(table.nodeId, table.at)
      .where(sql`node_id is not null`),
  ],
);
