import { closeSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";
import { endianness } from "node:os";

/**
 * Which TCP ports processes listen on, by /proc alone: the tables of a process's network namespace say which socket inodes
 * listen, its file descriptors say which of them it holds. Where /proc is missing nothing listens.
 */
export type ListeningPort = { port: number; pid: number; address: string };
type Listener = { inode: string; port: number; address: string };

/** The ports that these processes listen on, each once with the first of them that holds it; only `port` if given. */
export const listeningPorts = (pids: number[], port?: number): ListeningPort[] => {
  const byNamespace = new Map<string, Map<string, Listener>>();
  const found: ListeningPort[] = [];
  for (const pid of pids) {
    const namespace = link(`/proc/${pid}/ns/net`) ?? "own";
    const left = byNamespace.get(namespace) ?? listeners(pid, port);
    byNamespace.set(namespace, left);
    // The descriptors are the dear part: not looked at when nobody listens who was not found yet.
    for (const inode of left.size > 0 ? socketsOf(pid) : []) {
      const listener = left.get(inode);
      if (!listener) continue;
      left.delete(inode);
      found.push({ port: listener.port, pid, address: listener.address });
    }
  }
  return found.sort((a, b) => a.port - b.port);
};

const link = (path: string): string | undefined => {
  try {
    return readlinkSync(path);
  } catch {
    // The process ended, or it is not ours to look at.
    return undefined;
  }
};

const socketsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /^socket:\[(\d+)\]$/.exec(link(`/proc/${pid}/fd/${fd}`) ?? "")?.[1] ?? [],
    );
  } catch {
    // The process ended, or it is not ours to look at.
    return [];
  }
};

const listeners = (pid: number, port: number | undefined): Map<string, Listener> => {
  const all = ["tcp", "tcp6"].flatMap((table) => listeningRows(`/proc/${pid}/net/${table}`).map(parseRow));
  return new Map(all.filter((one) => port === undefined || one.port === port).map((one) => [one.inode, one]));
};

const listenState = "0A";
const readBytes = 64 * 1024;

/** The rows of listening sockets. The kernel lists them first: the rest, which may be very long, is not read. */
const listeningRows = (path: string): string[][] => {
  const rows: string[][] = [];
  let unfinished = "";
  for (const text of chunksOf(path)) {
    const lines = (unfinished + text).split("\n");
    unfinished = lines.pop() ?? "";
    for (const line of lines) {
      const fields = line.trim().split(/\s+/);
      if (fields[0] === "sl") continue;
      if (fields[3] !== listenState) return rows;
      rows.push(fields);
    }
  }
  return rows;
};

const chunksOf = function* (path: string): Generator<string> {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    // No such table (no IPv6, no /proc), or the process ended.
    return;
  }
  try {
    const buffer = Buffer.allocUnsafe(readBytes);
    for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer))
      yield buffer.toString("latin1", 0, read);
  } finally {
    closeSync(fd);
  }
};

const parseRow = (fields: string[]): Listener => {
  const [host = "", port = ""] = fields[1]?.split(":") ?? [];
  return { inode: fields[9] ?? "", port: Number.parseInt(port, 16), address: addressOf(host) };
};

/** Addresses are words of four bytes, each as a number of the machine. */
const addressOf = (hex: string): string => {
  const bytes = Buffer.from(hex, "hex");
  if (endianness() === "LE") bytes.swap32();
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(2 * n).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
};
