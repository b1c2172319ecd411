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

/**
 * Differs between machines (also between most clones of one) and between data folders on one; tells nothing but that.
 * A disk that is cloned with the machine's own id is told from a boot by nothing.
 */
export const machineId = (dataFolder: string): string =>
  createHash("sha256")
    .update(`${firstLine("/etc/machine-id") ?? hostname()}\0${statSync(dataFolder).ino}`)
    .digest("hex")
    .slice(0, 32);

/** Differs between boots of a machine. */
export const bootId = (): string => firstLine("/proc/sys/kernel/random/boot_id") ?? "unknown";
