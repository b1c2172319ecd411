// What /proc tells of a process.

import { readFile, readdir, writeFile } from "node:fs/promises";

const ticksPerSecond = 100;
const bytesPerMb = 1_000_000;

// The name in parentheses may hold anything; the fields that count come behind it.
const statFields = async (pid: number): Promise<string[]> => {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
};

const ticksMs = (...ticks: (string | undefined)[]): number =>
  ticks.reduce((sum, count) => sum + Number(count), 0) * (1000 / ticksPerSecond);

/** CPU time of a process itself, without its children, in milliseconds; a tick of 10 ms is the grain. */
export async function cpuMs(pid: number): Promise<number> {
  const fields = await statFields(pid);
  return ticksMs(fields[11], fields[12]);
}

/** CPU time of its children that have ended, in milliseconds. */
export async function endedChildrenCpuMs(pid: number): Promise<number> {
  const fields = await statFields(pid);
  return ticksMs(fields[13], fields[14]);
}

/** Resident memory now and at its highest since the last `forgetPeak`, in MB (10^6 bytes). */
export async function memoryMb(pid: number): Promise<{ now: number; highest: number }> {
  const text = await readFile(`/proc/${pid}/status`, "utf8");
  const mb = (name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) * 1024) / bytesPerMb;
  return { now: mb("VmRSS"), highest: mb("VmHWM") };
}

/** Starts the kernel's note of the highest memory anew. */
export const forgetPeak = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, "5");

export async function childrenOf(pid: number): Promise<number[]> {
  const children = await Promise.all(
    (await readdir("/proc"))
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        // Gone while we looked.
        const fields = await statFields(Number(name)).catch(() => []);
        return Number(fields[1]) === pid ? [Number(name)] : [];
      }),
  );
  return children.flat();
}

/** The command line; empty for a process that is gone. */
export const commandLine = async (pid: number): Promise<string> =>
  (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).replaceAll("\0", " ").trim();

/** How many files one process of ours may open. */
export async function descriptorLimit(): Promise<number> {
  const text = await readFile("/proc/self/limits", "utf8");
  // Node raises the soft limit to the hard one as it starts.
  return Number(/^Max open files\s+\S+\s+(\d+)/m.exec(text)?.[1] ?? Infinity);
}
