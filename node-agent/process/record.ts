import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import * as z from "zod";
import type { Launch } from "#shared/link/launch.ts";
import { endReasons, finalStatuses } from "#shared/process-state.ts";
import type { ProcessFolder } from "./folder.ts";

/**
 * The run record, the file `run`: what is known of a process whatever becomes of the agent. It is one file, since creating
 * files is what a start costs most, and it is written in place over padding with a shell's builtins only, so that an
 * ending can be written on a full disk.
 *
 *   #<n> {"id":…}                the spec, by the agent; to the shell a comment. The record begins at byte n
 *   trap … exit                  the script that becomes the wrapper (see launch.ts)
 *   <id> start <uptime> <stat>   the wrapper is there: seconds since boot, its own /proc/self/stat
 *   <id> keeper <pid>            the process that holds the write end of an open stdin
 *   <id> leader <stat>           the command's own process, just before it becomes the command
 *   Killed, …                    the wrapper's own stderr: the announcement of a death by signal
 *   <id> exit <code> <uptime> end  the ending; it counts only with the last word
 *   <id> final {"status":…}      an ending that no wrapper wrote, by the agent
 *   <id> acked                   the control plane has stored the ending, by the agent
 */
const spec = z.object({
  id: z.string(),
  bootId: z.string(),
  chatId: z.string().nullable(),
  cwd: z.string(),
  output: z.enum(["merged", "split"]),
  stdin: z.enum(["none", "pipe", "text"]),
  timeoutMs: z.number().nullable(),
  idleTimeoutMs: z.number().nullable(),
  idleOn: z.array(z.enum(["output", "cpu"])),
  graceMs: z.number(),
  logBytes: z.number(),
  outputBytes: z.number().nullable(),
  keepDescendants: z.boolean(),
  // Not in records of before there were walls.
  memBytes: z.number().nullable().default(null),
  cgroup: z.string().nullable().default(null),
});
export type Spec = z.infer<typeof spec>;

/** Of a start what has to be known of it whatever becomes of the agent; not its environment and its text. */
export const specOfLaunch = (launch: Launch & { cwd: string }, here: Pick<Spec, "bootId" | "cgroup">): Spec =>
  spec.parse({ ...launch, ...here, stdin: typeof launch.stdin === "object" ? "text" : launch.stdin });

const ending = z.object({
  status: z.enum(finalStatuses),
  reason: z.enum(endReasons).nullable(),
  detail: z.string().nullable(),
  exitCode: z.number().nullable(),
  signal: z.string().nullable(),
});
/** How a process ended, as it is reported. */
export type Ending = z.infer<typeof ending>;

/** A pid with the moment it was born, so that a later process with the same pid is not mistaken for it. */
export type Identity = { pid: number; startTicks: number };

export type RunRecord = {
  spec: Spec;
  wrapper: Identity | null;
  startedAt: number | null;
  keeperPid: number | null;
  leader: Identity | null;
  /** Whether the wrapper's shell said anything after the command began: it does so of a death by signal. */
  announced: boolean;
  exit: { code: number; at: number } | null;
  final: Ending | null;
  acked: boolean;
};

const paddingBytes = 2048;
/** Room behind the spec, so that a limit can be changed in place. */
const specRoom = 64;
const offsetDigits = 8;

/** Writes the spec, the script and the padding; returns the descriptor whose offset is where the wrapper goes on. */
export const createRecord = (folder: ProcessFolder, content: Spec, script: string): number => {
  const rest = ` ${JSON.stringify(content)}${" ".repeat(specRoom)}\n${script}`;
  const begins = 1 + offsetDigits + Buffer.byteLength(rest);
  const text = Buffer.from(
    `#${String(begins).padStart(offsetDigits, "0")}${rest}${" ".repeat(paddingBytes)}`,
  );
  const fd = openSync(folder.run, "wx+", 0o600);
  writeSync(fd, text.subarray(0, begins));
  // A write with a position leaves the descriptor's offset, which the wrapper inherits, where it is.
  writeSync(fd, text, begins, paddingBytes, begins);
  return fd;
};

/** Replaces the spec of a record (a limit was changed) if it fits where the old one was. */
export const rewriteSpec = (folder: ProcessFolder, content: Spec): void => {
  const from = 1 + offsetDigits + 1;
  const room = readFileSync(folder.run).indexOf("\n") - from;
  const text = Buffer.from(JSON.stringify(content));
  if (text.length > room) throw new Error("the spec has no room for this change");
  writeAt(folder, from, Buffer.concat([text, Buffer.alloc(room - text.length, " ")]));
};

/** Writes an ending that no wrapper wrote. */
export const noteFinal = (folder: ProcessFolder, content: Spec, final: Ending): void => {
  if (readRecord(folder) === undefined) closeSync(createRecord(folder, content, "exit\n"));
  append(folder, `${folder.id} final ${JSON.stringify(final)}\n`);
};

/** Writes that the control plane has stored the ending. */
export const noteAcked = (folder: ProcessFolder): void => append(folder, `${folder.id} acked\n`);

/** Puts a line behind the last one; only once no wrapper writes any more. */
const append = (folder: ProcessFolder, line: string): void => {
  const text = readFileSync(folder.run);
  const begins = beginning(text);
  const last = text.lastIndexOf("\n");
  writeAt(folder, Math.max(begins, last + 1), Buffer.from(line));
};

const writeAt = (folder: ProcessFolder, position: number, bytes: Buffer): void => {
  const fd = openSync(folder.run, "r+");
  try {
    writeSync(fd, bytes, 0, bytes.length, position);
  } finally {
    closeSync(fd);
  }
};

const beginning = (text: Buffer): number => Number(text.toString("latin1", 1, 1 + offsetDigits));

/** `known` is the spec where the caller has it: it is then not read again. */
export const readRecord = (folder: ProcessFolder, known?: Spec): RunRecord | undefined => {
  let text: Buffer;
  try {
    text = readFileSync(folder.run);
  } catch {
    // No record: the start was claimed and nothing more.
    return undefined;
  }
  const parsed = known ?? parseSpec(text);
  if (!parsed) return undefined;
  const lines = text.toString("utf8", beginning(text)).split("\n");
  return lines.reduce(withLine, { ...nothingYet, spec: parsed });
};

const nothingYet: Omit<RunRecord, "spec"> = {
  wrapper: null,
  startedAt: null,
  keeperPid: null,
  leader: null,
  announced: false,
  exit: null,
  final: null,
  acked: false,
};

const parseSpec = (text: Buffer): Spec | undefined => {
  try {
    return spec.parse(JSON.parse(text.toString("utf8", 1 + offsetDigits, text.indexOf("\n"))));
  } catch {
    // Half a line: the agent ended while it wrote the record, so nothing was started.
    return undefined;
  }
};

const withLine = (record: RunRecord, line: string): RunRecord => {
  const [id, word, ...rest] = line.split(" ");
  if (id !== record.spec.id)
    return record.leader && line.trim() !== "" ? { ...record, announced: true } : record;
  if (word === "start")
    return { ...record, startedAt: Number(rest[0]), wrapper: identityOf(rest.slice(1).join(" ")) };
  if (word === "leader") return { ...record, leader: identityOf(rest.join(" ")) };
  if (word === "keeper") return { ...record, keeperPid: Number(rest[0]) };
  if (word === "exit" && rest[2] === "end")
    return { ...record, exit: { code: Number(rest[0]), at: Number(rest[1]) } };
  if (word === "final") return { ...record, final: parseFinal(rest.join(" ")) };
  return word === "acked" ? { ...record, acked: true } : record;
};

const parseFinal = (text: string): Ending | null => {
  try {
    return ending.parse(JSON.parse(text));
  } catch {
    // Half a line: the agent ended while it wrote.
    return null;
  }
};

/** Pid (field 1) and start ticks (field 22) of a /proc stat line; the name in parentheses may hold anything. */
const identityOf = (stat: string): Identity => ({
  pid: Number.parseInt(stat, 10),
  startTicks: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]),
});
