import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import * as z from "zod";
import type { ProcessFolder } from "./folder.ts";

/**
 * The run record: what is known of a process whatever becomes of the agent.
 *
 * The agent writes the spec line and pads the file with spaces; the wrapper then writes its lines in place over the
 * padding, with builtins only, so that an ending can be written on a full disk:
 *
 *   {"id":…}                     the spec, by the agent
 *   start <uptime> <stat line>   the wrapper is there: seconds since boot, its own /proc/self/stat
 *   keeper <pid>                 the process that holds the write end of an open stdin
 *   leader <stat line>           the command's own process, just before it becomes the command
 *   <times>                      CPU time of shell and children, two lines of the `times` builtin
 *   exit <code> <uptime> end     the ending; it counts only with the last word
 */
const spec = z.object({
  id: z.string(),
  bootId: z.string(),
  chatId: z.string().nullable(),
  cwd: z.string(),
  output: z.enum(["merged", "split"]),
  stdin: z.enum(["none", "pipe", "text"]),
  /** Seconds since boot when the start was taken. */
  claimedAt: z.number(),
  timeoutMs: z.number().nullable(),
  idleTimeoutMs: z.number().nullable(),
  idleOn: z.array(z.enum(["output", "cpu"])),
  graceMs: z.number(),
  logBytes: z.number(),
  outputBytes: z.number().nullable(),
  keepDescendants: z.boolean(),
});
export type Spec = z.infer<typeof spec>;

/** A pid with the moment it was born, so that a later process with the same pid is not mistaken for it. */
export type Identity = { pid: number; startTicks: number };

export type RunRecord = {
  spec: Spec;
  wrapper: Identity | null;
  startedAt: number | null;
  keeperPid: number | null;
  leader: Identity | null;
  exit: { code: number; at: number } | null;
};

const paddingBytes = 2048;
/** Room behind the spec, so that a limit can be changed in place. */
const specRoom = 64;

/** Writes the spec line and the padding; returns the descriptor whose offset is where the wrapper goes on. */
export const createRecord = (folder: ProcessFolder, content: Spec): number => {
  const fd = openSync(folder.run, "wx+", 0o600);
  const line = Buffer.from(`${JSON.stringify(content)}${" ".repeat(specRoom)}\n`);
  writeSync(fd, line);
  // A write with a position leaves the descriptor's offset, which the wrapper inherits, where it is.
  writeSync(fd, Buffer.alloc(paddingBytes, " "), 0, paddingBytes, line.length);
  return fd;
};

/** Replaces the spec line of a record (a limit was changed) if it fits where the old one was. */
export const rewriteSpec = (folder: ProcessFolder, content: Spec): void => {
  const old = readFileSync(folder.run).indexOf("\n");
  const line = Buffer.alloc(old, " ");
  if (line.write(JSON.stringify(content)) !== Buffer.byteLength(JSON.stringify(content)))
    throw new Error("the spec has no room for this change");
  const fd = openSync(folder.run, "r+");
  try {
    writeSync(fd, line, 0, old, 0);
  } finally {
    closeSync(fd);
  }
};

export const readRecord = (folder: ProcessFolder): RunRecord | undefined => {
  let text: string;
  try {
    text = readFileSync(folder.run, "latin1");
  } catch {
    // No record: the start was claimed and nothing more.
    return undefined;
  }
  const [first = "", ...lines] = text.split("\n");
  const parsed = parseSpec(first);
  return (
    parsed &&
    lines.reduce(withLine, {
      spec: parsed,
      wrapper: null,
      startedAt: null,
      keeperPid: null,
      leader: null,
      exit: null,
    })
  );
};

const parseSpec = (line: string): Spec | undefined => {
  try {
    return spec.parse(JSON.parse(Buffer.from(line, "latin1").toString("utf8")));
  } catch {
    // Half a line: the agent ended while it wrote the record, so nothing was started.
    return undefined;
  }
};

const withLine = (record: RunRecord, line: string): RunRecord => {
  const [word, ...rest] = line.split(" ");
  if (word === "start")
    return { ...record, startedAt: Number(rest[0]), wrapper: identityOf(rest.slice(1).join(" ")) };
  if (word === "leader") return { ...record, leader: identityOf(rest.join(" ")) };
  if (word === "keeper") return { ...record, keeperPid: Number(rest[0]) };
  if (word === "exit" && rest[2] === "end")
    return { ...record, exit: { code: Number(rest[0]), at: Number(rest[1]) } };
  return record;
};

/** Pid (field 1) and start ticks (field 22) of a /proc stat line; the name in parentheses may hold anything. */
const identityOf = (stat: string): Identity => ({
  pid: Number.parseInt(stat, 10),
  startTicks: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]),
});
