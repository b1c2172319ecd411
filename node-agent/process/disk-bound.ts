import { closeSync, existsSync, ftruncateSync, openSync, readSync, statfsSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram } from "../machine/run-program.ts";
import type { StreamName } from "#shared/streams.ts";
import type { Child } from "./child.ts";
import { gapPath, type ProcessFolder, streamPath, streamsOf } from "./folder.ts";
import { signalTree } from "./kill.ts";
import { type Gap, noGap, readGap, streamSize } from "./output.ts";
import { procEntry } from "./proc-table.ts";
import { membersOf, type Tree } from "./tree.ts";

/**
 * Keeps what a stream holds on disk under a bound while the process lives: the middle goes, head, tail, byte count and
 * offsets stay. The gap is written down before the bytes go, so that no reader takes a hole for zeros.
 *
 * Freeing pages slows a command that writes as fast as it can (by a quarter, measured), so a bound may be passed for a
 * while where the disk has room: by at most eight times itself, 512 MiB, and a 64th of what is free. When the process has
 * ended its output is brought under the bound in any case.
 *
 * With a punching fallocate nothing stands still: the command appends at the end, the hole is in the middle.
 * Without, the whole tree is stopped, the tail moved forward over the gap, the file cut, and the tree goes on.
 */
const headShare = 1 / 8;
const tailShare = 5 / 8;
const blockBytes = 4096;
const stepBytes = 16 * 1024 * 1024;

/** How far a living process may pass its bound. */
export const slackBytes = (boundBytes: number, freeBytes: number): number =>
  Math.min(8 * boundBytes, 512 * 1024 * 1024, freeBytes / 64);

/** The gap that brings a stream of this size under its bound; null while it is within bound and slack. */
export const wantedGap = (
  sizeBytes: number,
  { boundBytes, slack }: { boundBytes: number; slack: number },
  gap: Gap,
): { from: number; to: number } | null => {
  if (sizeBytes - (gap.to - gap.from) <= boundBytes + slack) return null;
  const align = (bytes: number) => Math.floor(bytes / blockBytes) * blockBytes;
  const from = gap.to > gap.from ? gap.from : align(boundBytes * headShare);
  return { from, to: Math.max(gap.to, align(sizeBytes - boundBytes * tailShare)) };
};

const boundsOf = (child: Child): { boundBytes: number; slack: number } => {
  const boundBytes = child.spec.logBytes / streamsOf(child.spec.output).length;
  if (child.phase === "ended") return { boundBytes, slack: 0 };
  const { bavail, bsize } = statfsSync(child.folder.path);
  return { boundBytes, slack: slackBytes(boundBytes, bavail * bsize) };
};

/** Whether a stream of the process holds more than it may now. */
export const overBound = (child: Child): boolean => {
  if (child.snapshots.totalBytes() <= child.spec.logBytes / 2) return false;
  reserveGap(child);
  return streamsOf(child.spec.output).some((stream) => gapWanted(child, stream) !== null);
};

const gapWanted = (child: Child, stream: StreamName): { from: number; to: number } | null => {
  const gap = readGap(child.folder, stream);
  return wantedGap(streamSize(child.folder, stream, gap), boundsOf(child), gap);
};

const bounding = new WeakMap<Child, Promise<void>>();

/** Brings the streams of a process under their bound; calls meanwhile share the work. What cannot be done is tried at the next call. */
export const boundOutput = (child: Child): Promise<void> => {
  const work =
    bounding.get(child) ??
    boundStreams(child)
      .catch(() => undefined)
      .finally(() => bounding.delete(child));
  bounding.set(child, work);
  return work;
};

const boundStreams = async (child: Child): Promise<void> => {
  for (const stream of streamsOf(child.spec.output)) await boundStream(child, stream);
};

const boundStream = async (child: Child, stream: StreamName): Promise<void> => {
  const { folder, tree } = child;
  const gap = readGap(folder, stream);
  const wanted = gapWanted(child, stream);
  if (!wanted || wanted.to <= gap.to) return;
  if (gap.shift === 0 && (await canPunch()) && (await punch(folder, stream, gap, wanted))) return;
  await compact(folder, stream, gap, { wanted, tree });
};

/** A gap is overwritten in place, at one length, once there is one. */
const gapText = (gap: Gap): string => JSON.stringify(gap).padEnd(96);

const writeGap = (folder: ProcessFolder, stream: StreamName, gap: Gap): void => {
  const path = gapPath(folder, stream);
  const fd = openSync(path, existsSync(path) ? "r+" : "wx", 0o600);
  try {
    writeSync(fd, gapText(gap), 0);
  } finally {
    closeSync(fd);
  }
};

/** Makes room for the gap while there is room: a full disk is when it is needed most. */
const reserveGap = (child: Child): void => {
  for (const stream of streamsOf(child.spec.output))
    if (!existsSync(gapPath(child.folder, stream))) writeGap(child.folder, stream, noGap);
};

/** False where it could not be done. */
const punch = async (
  folder: ProcessFolder,
  stream: StreamName,
  gap: Gap,
  wanted: { from: number; to: number },
): Promise<boolean> => {
  writeGap(folder, stream, { ...wanted, shift: 0 });
  const from = gap.to > gap.from ? gap.to : wanted.from;
  // In steps: a hole is punched under the lock that the writer needs.
  for (let at = from; at < wanted.to; at += stepBytes) {
    const length = Math.min(stepBytes, wanted.to - at);
    const range = ["--offset", String(at), "--length", String(length)];
    const done = await fallocate(["--punch-hole", "--keep-size", ...range, streamPath(folder, stream)]);
    if (!done) return noPunching();
  }
  return true;
};

/** The file system refuses, or the tool has gone. */
const noPunching = (): boolean => {
  punching = Promise.resolve(false);
  return false;
};

const fallocate = async (args: string[]): Promise<boolean> =>
  (await runProgram({ file: "fallocate", args, limitMs: 30_000, maxBytes: 65_536 })).code === 0;

let punching: Promise<boolean> | undefined;
/** Whether the tool is there; a file system that refuses is learnt at the first punch. */
const canPunch = (): Promise<boolean> => (punching ??= fallocate(["--version"]));

const compact = async (
  folder: ProcessFolder,
  stream: StreamName,
  gap: Gap,
  how: { wanted: { from: number; to: number }; tree: Tree },
): Promise<void> => {
  signalTree(how.tree, "SIGSTOP");
  try {
    await allStopped(how.tree);
    moveTail(folder, stream, gap, how.wanted);
  } finally {
    signalTree(how.tree, "SIGCONT");
  }
};

/** A stop takes effect when the process next leaves the kernel; until then it may still append. */
const allStopped = async (tree: Tree): Promise<void> => {
  const deadline = performance.now() + 1000;
  while (
    performance.now() < deadline &&
    membersOf(tree).some((member) => !"Tt".includes(procEntry(member.pid)?.state ?? "T"))
  )
    await sleep(1);
};

const moveTail = (
  folder: ProcessFolder,
  stream: StreamName,
  gap: Gap,
  wanted: { from: number; to: number },
): void => {
  const size = streamSize(folder, stream, gap);
  const fd = openSync(streamPath(folder, stream), "r+");
  try {
    const tail = Buffer.alloc(1024 * 1024);
    let moved = 0;
    for (let at = wanted.to; at < size; at += tail.length) {
      const length = readSync(fd, tail, 0, Math.min(tail.length, size - at), at - gap.shift);
      writeSync(fd, tail, 0, length, wanted.from + moved);
      moved += length;
    }
    writeGap(folder, stream, { ...wanted, shift: wanted.to - wanted.from });
    ftruncateSync(fd, wanted.from + moved);
  } finally {
    closeSync(fd);
  }
};
