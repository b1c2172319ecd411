import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { cpus, freemem, totalmem } from "node:os";
import type { NodeLoad } from "#shared/api/node.ts";

type CpuTime = { busy: number; total: number };

/** A meter of this machine's load; its CPU share is that since the last reading (since it was made, at first). */
export function loadMeter(dataFolder: string): () => Promise<NodeLoad> {
  let before = cpuTime();
  return async () => {
    const now = cpuTime();
    const cpu = share(before, now);
    before = now;
    const { bavail, bsize } = await statfs(dataFolder);
    return { cpu, memUsedBytes: usedMemory(), diskFreeBytes: bavail * bsize };
  };
}

/** The busy part of the time between two readings, 0…1. */
export const share = (before: CpuTime, now: CpuTime): number => {
  const total = now.total - before.total;
  return total <= 0 ? 0 : Math.min(1, Math.max(0, (now.busy - before.busy) / total));
};

/** The first line of /proc/stat: user nice system idle iowait irq softirq steal, in ticks since boot. */
export function parseCpuLine(text: string): CpuTime {
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = (
    text.split("\n", 1)[0] ?? ""
  )
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const busy = user + nice + system + irq + softirq + steal;
  return { busy, total: busy + idle + iowait };
}

/** MemTotal less MemAvailable: what programs hold, without caches that yield. */
export function parseUsedMemory(text: string): number | undefined {
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]);
  const used = kib("MemTotal") - kib("MemAvailable");
  return Number.isFinite(used) ? used * 1024 : undefined;
}

const proc = (file: string): string | undefined => {
  try {
    return readFileSync(file, "latin1");
  } catch {
    // Not Linux: Node's own counters serve.
    return undefined;
  }
};

function cpuTime(): CpuTime {
  const text = proc("/proc/stat");
  if (text !== undefined) return parseCpuLine(text);
  const times = cpus().map((cpu) => cpu.times);
  const busy = times.reduce((sum, time) => sum + time.user + time.nice + time.sys + time.irq, 0);
  return { busy, total: busy + times.reduce((sum, time) => sum + time.idle, 0) };
}

const usedMemory = (): number => parseUsedMemory(proc("/proc/meminfo") ?? "") ?? totalmem() - freemem();
