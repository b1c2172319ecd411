import * as z from "zod";
import { processStatuses } from "../process-state.ts";
import { signalNames } from "../signals.ts";
import { streamNames } from "../streams.ts";
import { survivor } from "../survivor.ts";
import { wallLimits } from "./walls.ts";
import { secretRef } from "./secret.ts";
import { byteLength, labels, limitMs, maxEntryBytes, maxTextBytes, plainText, timestamp } from "./common.ts";

const command = plainText(maxTextBytes).refine((text) => text.trim() !== "", "must not be empty or blank");
const argv = z
  .array(plainText(maxEntryBytes))
  .min(1)
  .max(10_000)
  .refine((words) => words[0] !== "", "the program must not be empty")
  .refine(
    (words) => words.reduce((sum, word) => sum + byteLength(word) + 1, 0) <= maxTextBytes,
    `must be at most ${maxTextBytes} bytes together`,
  );

const reservedEnv = new Set(["DROVER_PROCESS_ID", "DROVER_CHAT_ID", "DROVER_NODE"]);
const envName = z
  .string()
  .max(1024)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "a name has letters, digits and '_' and does not start with a digit")
  .refine((name) => !reservedEnv.has(name), "is set by Drover and cannot be overridden");
const env = z
  .record(envName, z.union([plainText(maxTextBytes), secretRef]))
  .refine(
    (all) =>
      Object.entries(all).every(
        ([name, value]) =>
          typeof value !== "string" || byteLength(name) + byteLength(value) + 1 <= maxEntryBytes,
      ),
    `each entry must be less than ${maxEntryBytes + 1} bytes`,
  )
  .refine(
    (all) =>
      Object.entries(all).reduce(
        (sum, [name, value]) =>
          sum + byteLength(name) + (typeof value === "string" ? byteLength(value) : 0) + 2,
        0,
      ) <= maxTextBytes,
    `must be at most ${maxTextBytes} bytes together`,
  );

const startFields = z.strictObject({
  node: z.string().min(1).max(200).optional(),
  chatId: z.string().min(1).max(200).optional(),
  command: command.optional(),
  argv: argv.optional(),
  cwd: plainText(4096)
    .refine((path) => path.startsWith("/"), "must be an absolute path")
    .optional(),
  env: env.optional(),
  shell: plainText(4096)
    .refine((path) => /^[^\s]+$/.test(path), "must be the name or path of a shell")
    .default("sh"),
  user: plainText(256).optional(),
  background: z.boolean().default(false),
  key: plainText(512)
    .refine((key) => key !== "", "must not be empty")
    .optional(),
  timeoutMs: limitMs.optional(),
  idleTimeoutMs: limitMs.optional(),
  idleOn: z
    .array(z.enum(["output", "cpu"]))
    .min(1)
    .max(2)
    .default(["output", "cpu"]),
  graceMs: z.int().min(0).max(600_000).default(5000),
  stdin: z
    .union([z.enum(["none", "pipe"]), z.strictObject({ text: plainText(maxTextBytes) })])
    .default("none"),
  pty: z.strictObject({ cols: z.int().min(1).max(1000), rows: z.int().min(1).max(1000) }).optional(),
  output: z.enum(["merged", "split"]).default("merged"),
  limits: z
    .strictObject({
      ...wallLimits,
      logBytes: z
        .int()
        .min(65_536)
        .max(2 ** 40)
        .default(64 * 1024 * 1024),
      outputBytes: z
        .int()
        .min(1)
        .max(2 ** 50)
        .optional(),
    })
    .prefault({}),
  nice: z.int().min(-20).max(19).optional(),
  keepDescendants: z.boolean().default(true),
  ifOffline: z.enum(["fail", "queue"]).default("fail"),
  queueTtlMs: limitMs.default(86_400_000),
  labels: labels.default({}),
});

const commandOrArgv = (body: { command?: string | undefined; argv?: string[] | undefined }): boolean =>
  (body.command === undefined) !== (body.argv === undefined);
const eitherOfThem = { path: ["command"], message: "give either command or argv" };

/** The body of `POST /v1/processes`. */
export const startProcessBody = startFields
  .refine((body) => (body.node === undefined) !== (body.chatId === undefined), {
    path: ["node"],
    message: "give either node or chatId",
  })
  .refine(commandOrArgv, eitherOfThem);
export type StartProcessBody = z.infer<typeof startProcessBody>;

/** A start whose node, key and patience are somebody else's to say: the `process` of a fan-out. */
export const processTemplate = startFields
  .omit({ node: true, chatId: true, key: true, ifOffline: true, queueTtlMs: true })
  .refine(commandOrArgv, eitherOfThem);
export type ProcessTemplate = z.infer<typeof processTemplate>;

/** A process as every route answers it (API reference: Process). */
export const processView = z.object({
  id: z.string(),
  key: z.string().nullable(),
  nodeId: z.string(),
  chatId: z.string().nullable(),
  turnId: z.string().nullable(),
  taskRunId: z.string().nullable(),
  fanoutId: z.string().nullable(),
  command: z.string().nullable(),
  argv: z.array(z.string()).nullable(),
  cwd: z.string().nullable(),
  status: z.enum(processStatuses),
  reason: z.string().nullable(),
  /** One sentence for people about the ending, such as the folder that was not found. */
  detail: z.string().nullable(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  pid: z.int().nullable(),
  background: z.boolean(),
  attached: z.boolean().optional(),
  timeoutMs: z.number().nullable(),
  idleTimeoutMs: z.number().nullable(),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  exitedAt: timestamp.nullable(),
  durationMs: z.number().nullable(),
  observedAt: timestamp.nullable(),
  stale: z.boolean(),
  output: z.object({ totalBytes: z.number(), omittedBytes: z.number(), lines: z.number().nullable() }),
  labels: z.record(z.string(), z.string()),
  survivors: z.array(survivor),
});
export type ProcessView = z.infer<typeof processView>;

export const truncated = z
  .object({
    originalBytes: z.number(),
    retainedBytes: z.number(),
    omittedBytes: z.number(),
    cutLines: z.number(),
    strategy: z.literal("head_tail"),
  })
  .nullable();
export const textResult = z.object({ text: z.string(), truncated });
/** What `exec` adds to the process: head and tail of what it wrote. */
export const execResult = z.union([textResult, z.object({ stdout: textResult, stderr: textResult })]);
export const processWithResult = processView.extend({ result: execResult.optional() });

export const signalBody = z.strictObject({
  signal: z
    .string()
    .transform((name) => name.toUpperCase().replace(/^SIG/, ""))
    .pipe(z.enum(signalNames)),
  scope: z.enum(["tree", "leader"]).default("tree"),
});
export const stopBody = z.strictObject({ graceMs: z.int().min(0).max(600_000).optional() });
export const stdinBody = z
  .strictObject({
    text: plainText(maxTextBytes).optional(),
    b64: z
      .base64()
      .max(2 * maxTextBytes)
      .optional(),
    eof: z.boolean().default(false),
  })
  .refine((body) => body.text === undefined || body.b64 === undefined, {
    path: ["text"],
    message: "give text or b64, not both",
  });
export const extendBody = z.strictObject({ timeoutMs: limitMs });
export const cancelBody = z
  .strictObject({
    node: z.string().min(1).optional(),
    chatId: z.string().min(1).optional(),
    key: plainText(512),
  })
  .refine((body) => (body.node === undefined) !== (body.chatId === undefined), {
    path: ["node"],
    message: "give either node or chatId",
  });
export const waitBody = z.strictObject({
  for: z
    .array(z.enum(["exit", "pattern", "port", "quiet"]))
    .min(1)
    .max(4),
  pattern: plainText(4096).optional(),
  regex: z.boolean().default(false),
  port: z.int().min(1).max(65_535).optional(),
  quietMs: z.int().min(1).max(3_600_000).optional(),
  waitMs: z
    .int()
    .min(0)
    .transform((ms) => Math.min(ms, 300_000))
    .default(30_000),
});
export const waitAnswer = z.object({
  met: z.enum(["exit", "pattern", "port", "quiet"]).nullable(),
  match: z.object({ from: z.number(), to: z.number(), text: z.string() }).optional(),
  port: z.int().optional(),
  process: processView,
});

const flag = z.enum(["true", "false", "1", "0", ""]).transform((value) => value !== "false" && value !== "0");
/** `GET …/{id}/output`: which part of which stream, and how it is shown. */
export const outputQuery = z.object({
  view: z.enum(["headtail", "head", "tail", "range"]).default("headtail"),
  stream: z.enum(streamNames).optional(),
  headBytes: z.coerce.number().int().min(0).max(maxTextBytes).default(16_384),
  tailBytes: z.coerce.number().int().min(0).max(maxTextBytes).optional(),
  lines: z.string().optional(),
  from: z.coerce.number().int().min(0).optional(),
  to: z.coerce.number().int().min(0).optional(),
  grep: plainText(4096).optional(),
  regex: flag.default(false),
  context: z.coerce.number().int().min(0).max(100).default(0),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  ansi: z.enum(["keep", "strip"]).default("keep"),
  format: z.enum(["json", "text", "raw"]).default("json"),
});
export const outputPart = z.object({ from: z.number(), to: z.number(), text: z.string() });
export const outputAnswer = z.object({
  text: z.string(),
  from: z.number(),
  to: z.number(),
  next: z.number(),
  totalBytes: z.number(),
  truncated,
  parts: z.array(outputPart).optional(),
  status: z.enum(processStatuses),
  exitCode: z.int().nullable(),
});
export const grepAnswer = z.object({
  matches: z.array(
    z.object({
      from: z.number(),
      to: z.number(),
      text: z.string(),
      before: z.array(z.string()),
      after: z.array(z.string()),
    }),
  ),
  next: z.number(),
  totalBytes: z.number(),
  status: z.enum(processStatuses),
  exitCode: z.int().nullable(),
});
export const listProcessesQuery = {
  node: z.string().optional(),
  chat: z.string().optional(),
  fanout: z.string().optional(),
  status: z.string().optional(),
};
