import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";

const firstLine = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch {
    // Not Linux, or a container without it: the caller has a fallback.
    return undefined;
  }
};

/** Differs between machines, also between most clones of one; tells nothing but that. */
export const machineId = (dataFolder: string): string =>
  firstLine("/etc/machine-id") ??
  createHash("sha256")
    .update(`${hostname()}\0${statSync(dataFolder).ino}`)
    .digest("hex")
    .slice(0, 32);

/** Differs between boots of a machine. */
export const bootId = (): string => firstLine("/proc/sys/kernel/random/boot_id") ?? "unknown";
