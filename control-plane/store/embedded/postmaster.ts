// What is known of a running server: its file `postmaster.pid`, and whether that process is really it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { systemCode } from "./failure.ts";

export type PostmasterFile = { pid: number; port: number; status: string };

/** Reads `postmaster.pid` of a cluster; undefined where there is none or it is still being written. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  return { pid, port, status: (lines[7] ?? "").trim() };
}

/** Whether this process id is the server of this cluster, and not one that got the number later. */
export async function isPostmasterOf(cluster: string, pid: number): Promise<boolean> {
  const words = await commandWords(pid);
  return words.some((word, at) => word === "-D" && words[at + 1] === cluster);
}

async function commandWords(pid: number): Promise<string[]> {
  if (process.platform !== "linux") return commandWordsByPs(pid);
  return (await commandLine(pid)).split("\0");
}

// A process that is gone has no such file; that of a zombie is empty. One that may not be read is not gone: whoever took it
// for that would start a second server beside it.
const commandLine = (pid: number): Promise<string> =>
  readFile(`/proc/${pid}/cmdline`, "utf8").catch((error: unknown) => {
    if (["ENOENT", "ESRCH"].includes(systemCode(error) ?? "")) return "";
    throw error;
  });

// `ps` does not tell a space inside a word from one between two.
async function commandWordsByPs(pid: number): Promise<string[]> {
  const args = ["-ww", "-o", "command=", "-p", String(pid)];
  const { stdout } = await execa("ps", args, { reject: false, timeout: 5_000 });
  const folder = /\s-D (.*?) -c /.exec(stdout ?? "")?.[1];
  return folder === undefined ? [] : ["-D", folder];
}
