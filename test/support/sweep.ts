import { eventually, pidsWith } from "./eventually.ts";

/** Ends everything of a test whose folder stands in its command line or environment, wherever it has got to. */
export async function endAllOf(folder: string): Promise<void> {
  await eventually(() => {
    const pids = pidsWith(folder);
    for (const pid of pids) kill(pid);
    return pids.length === 0;
  }, 30_000);
}

/** The same in one go, for a program that is about to exit: those that are born meanwhile are looked for a few times. */
export function endAllNow(folder: string): void {
  for (let looks = 0; looks < 50; looks++) {
    const pids = pidsWith(folder);
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}
