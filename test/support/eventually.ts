import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for one test, with a space in its name. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "drover test-"));

/** Waits until a condition holds that no event announces. */
export const eventually = async (holds: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> => {
  const deadline = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`did not come true in ${ms} ms: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

/** Pids whose command line or environment holds a text, zombies not counted. */
export const pidsWith = (text: string): number[] =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && holds(pid, text));

const holds = (pid: number, text: string): boolean => {
  try {
    const state = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /s, "")[0];
    if (state === "Z") return false;
    return (
      readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text) ||
      readFileSync(`/proc/${pid}/environ`, "latin1").includes(text)
    );
  } catch {
    // It ended while we looked.
    return false;
  }
};
