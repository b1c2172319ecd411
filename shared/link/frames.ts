import * as z from "zod";
import { nodeFacts, nodeLoad } from "../api/node.ts";
import { signalNames } from "../signals.ts";
import { streamNames } from "../streams.ts";
import { endReasons, processStatuses } from "../process-state.ts";
import { b64 } from "./b64.ts";
import { launch } from "./launch.ts";
import { count, int32, processId as id } from "./measures.ts";
import { report } from "./report.ts";

/**
 * The frames of the agent link: JSON text, one object a frame, validated at both ends.
 *
 * The agent opens the socket, says `hello` and gets `welcome`; before that nothing else is valid.
 * Nothing on the socket is durable. What is durable is a row in the control plane and a folder on the node,
 * and both sides compare them after each hello (level-triggered): a `start` may be sent again and finds its folder,
 * a `report` is sent again until its revision is acknowledged, a `stop` may be repeated.
 * Requests carry `rid` and get one `reply`; a reply that does not come means "unknown", never "no".
 */
/** The name that one end gives to a follow or a request. */
const name = z.string().min(1).max(64);
const rid = name;
/** What an agent calls itself, its machine, its boot. */
const word = z.string().max(1024);
const stream = z.enum(streamNames);

/** The agent's wall clock as it sends, in ms since 1970: only compared with the receiver's, never taken for a time. */
const wallAt = z.int().optional();

/** The number of a probe; before agents knew it there was none. */
const nonce = z.int().optional();

/** One process the agent knows to be alive, or ended and not yet acknowledged. */
export const inventoryItem = z.object({ id, status: z.enum(processStatuses), revision: count });

export const hello = z.object({
  type: z.literal("hello"),
  protocol: z.int(),
  version: word,
  /** Random per agent start; the same instance's new socket replaces its old one at once. */
  instanceId: word,
  machineId: word,
  bootId: word,
  facts: nodeFacts,
  wallAt,
  /** Answers a probe with its number (`nonce`). */
  echoes: z.literal(true).optional(),
  /** Only asks whether this agent may be the node: `welcome` says yes, nothing is taken or compared, no other frame follows. */
  asks: z.literal(true).optional(),
  inventory: z.array(inventoryItem),
});
export type Hello = z.infer<typeof hello>;

const goodbye = z.object({ type: z.literal("goodbye") });
/** `nonce`: the number of the probe that it answers. */
const ping = z.object({ type: z.literal("ping"), nonce });
const load = z.object({ type: z.literal("load"), load: nodeLoad, wallAt });
/** The start is written down on the node: it will run, or a report says why not. */
const accepted = z.object({ type: z.literal("accepted"), id });
const reports = z.object({ type: z.literal("reports"), reports: z.array(report).max(1000) });
/** Bytes [from, to) of a followed stream; `gap` says that [from, to) is no longer kept. `total` is what is written so far. */
const output = z.object({
  type: z.literal("output"),
  follow: name,
  from: count,
  to: count,
  b64: b64.optional(),
  gap: z.literal(true).optional(),
});
/** Answers one request: `value` by its kind, or an expected failure by its code. */
const reply = z.object({
  type: z.literal("reply"),
  rid,
  value: z.unknown().optional(),
  error: z
    .object({
      code: z.enum([
        "not_found",
        "process_not_running",
        "conflict",
        "invalid_request",
        "pattern_too_slow",
        "unavailable",
        "not_supported",
        "command_refused",
      ]),
      message: z.string(),
    })
    .optional(),
});
export type Reply = z.infer<typeof reply>;

/** Agent → control plane. */
export const upFrame = z.discriminatedUnion("type", [
  hello,
  goodbye,
  ping,
  load,
  accepted,
  reports,
  output,
  reply,
]);
export type UpFrame = z.infer<typeof upFrame>;

/** SHA-256 (hex) of the text of an agent's key. */
const keyHash = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex");

/** `keyHash`: of the key that is in force; until the next hello no key but one asked for on this socket replaces it. */
const welcome = z.object({
  type: z.literal("welcome"),
  nodeId: z.string(),
  nodeName: z.string(),
  epoch: count,
  keyHash: keyHash.optional(),
});
const pong = z.object({ type: z.literal("pong") });
/** Asks for a ping with this number at once: another agent claims this node, and an answer proves that this one lives. */
const probe = z.object({ type: z.literal("probe"), nonce });
const start = z.object({ type: z.literal("start"), launch });
/** Ends a process, or fences one that has not arrived: a later start of this id does nothing and is reported `canceled`. */
const stop = z.object({ type: z.literal("stop"), id, graceMs: count, reason: z.enum(endReasons) });
const acknowledge = z.object({
  type: z.literal("acknowledge"),
  acks: z.array(z.object({ id, revision: count })),
});
/** Frees what the agent keeps of an ended process. */
const forget = z.object({ type: z.literal("forget"), ids: z.array(id) });
/** Streams bytes from `from` on as they are written, at most `windowBytes` ahead of the last `credit`. */
const follow = z.object({ type: z.literal("follow"), follow: name, id, stream, from: count });
const unfollow = z.object({ type: z.literal("unfollow"), follow: name });
const credit = z.object({ type: z.literal("credit"), follow: name, to: count });
/** Ends the waiting for a request's reply (its client left). */
const abandon = z.object({ type: z.literal("abandon"), rid });

export const requests = {
  /** Bytes: the first `head`, the last `tail`, and/or [from, to); see `readReply`. */
  read: z.object({
    type: z.literal("read"),
    rid,
    id,
    stream,
    head: count.optional(),
    tail: count.optional(),
    from: count.optional(),
    to: count.optional(),
  }),
  grep: z.object({
    type: z.literal("grep"),
    rid,
    id,
    stream,
    pattern: z.string(),
    regex: z.boolean(),
    context: count,
    from: count,
    limit: count,
  }),
  wait: z.object({
    type: z.literal("wait"),
    rid,
    id,
    waitMs: count,
    stream,
    pattern: z.object({ text: z.string(), regex: z.boolean() }).optional(),
    port: count.optional(),
    anyPort: z.boolean().optional(),
    quietMs: count.optional(),
  }),
  signal: z.object({
    type: z.literal("signal"),
    rid,
    id,
    signal: z.enum(signalNames),
    scope: z.enum(["tree", "leader"]),
  }),
  stdin: z.object({ type: z.literal("stdin"), rid, id, b64, eof: z.boolean() }),
  extend: z.object({ type: z.literal("extend"), rid, id, timeoutMs: count }),
  ports: z.object({ type: z.literal("ports"), rid, id }),
  /** Say again how these ended, as far as it is known; see `recallReply`. */
  recall: z.object({ type: z.literal("recall"), rid, ids: z.array(id).max(1000) }),
  /** Make a key to follow the one of this hash, which is in force; see `rotateKeyReply`. */
  rotateKey: z.object({ type: z.literal("rotate-key"), rid, keyHash }),
} as const;

/** Frames that get a reply. */
export const requestFrame = z.discriminatedUnion("type", [
  requests.read,
  requests.grep,
  requests.wait,
  requests.signal,
  requests.stdin,
  requests.extend,
  requests.ports,
  requests.recall,
  requests.rotateKey,
]);
export type RequestFrame = z.infer<typeof requestFrame>;

export const plainFrame = z.discriminatedUnion("type", [
  welcome,
  pong,
  probe,
  start,
  stop,
  acknowledge,
  forget,
  follow,
  unfollow,
  credit,
  abandon,
]);
export type PlainFrame = z.infer<typeof plainFrame>;

/** Control plane → agent. */
export const downFrame = z.discriminatedUnion("type", [plainFrame, requestFrame]);
export type DownFrame = z.infer<typeof downFrame>;

/** What `read` answers: the parts that were asked for and still exist, in order, without overlap; `gaps` are ranges no longer kept. */
export const readReply = z.object({
  totalBytes: count,
  parts: z.array(z.object({ from: count, to: count, b64 })),
  gaps: z.array(z.object({ from: count, to: count })),
});
export type ReadReply = z.infer<typeof readReply>;
const textAt = { from: count, to: count, text: z.string() };
/** What `grep` answers; `next` is where to go on, equal to `totalBytes` when all was searched. */
export const grepReply = z.object({
  matches: z.array(z.object({ ...textAt, before: z.array(z.string()), after: z.array(z.string()) })),
  next: count,
  totalBytes: count,
});
export type GrepReply = z.infer<typeof grepReply>;
/** What `wait` answers: the first condition that held, or null when the time ran out or the process ended. */
export const waitReply = z.object({
  met: z.enum(["pattern", "port", "quiet"]).nullable(),
  match: z.object(textAt).optional(),
  port: count.optional(),
});
export type WaitReply = z.infer<typeof waitReply>;
export const portsReply = z.object({
  ports: z.array(z.object({ port: count, pid: int32, address: z.string() })),
});
/** What `recall` answers: of which the agent has a record; their reports follow. */
export const recallReply = z.object({ known: z.array(id) });
/** What `rotate-key` answers: the hash of the new key, which is on the agent's disk, as is the one in force. */
export const rotateKeyReply = z.object({ keyHash });
/** What `stdin` answers: how many bytes the pipe took. */
export const stdinReply = z.object({ writtenBytes: count });
