import { readdirSync, rmSync, statSync } from "node:fs";
import { isProcessId, processFolder } from "./folder.ts";
import { readRecord } from "./record.ts";

/** The wall clock, and one that only goes on; both in ms. */
type Clocks = { wall(): number; steady(): number };
const clocks: Clocks = { wall: () => Date.now(), steady: () => performance.now() };

/** Between two looks the clocks part by more than this only when the one on the wall is set. */
const driftMs = 60_000;

/**
 * Removes folders whose ending was stored more than `keepMs` ago, at each call of the returned function.
 *
 * How long ago that is the wall clock says, and it may be set by years while the agent runs (a machine without a battery).
 * Then nothing is removed for `keepMs` of the steady clock: after that, whatever has a date from before is old enough. A
 * date that is still to come is one from before the clock was set back.
 */
export function reaper(procs: string, keepMs: number, { wall, steady }: Clocks = clocks): () => void {
  let apart = wall() - steady();
  let since = steady();
  let wasSet = false;
  return () => {
    const [now, ran] = [wall(), steady()];
    if (Math.abs(now - ran - apart) > driftMs) [since, wasSet] = [ran, true];
    apart = now - ran;
    const settled = ran - since >= keepMs;
    if (wasSet && !settled) return;
    for (const id of readdirSync(procs).filter(isProcessId)) {
      const folder = processFolder(procs, id);
      const stored = statSync(folder.run, { throwIfNoEntry: false })?.mtimeMs;
      if (stored === undefined) continue;
      const isOld = stored < now - keepMs || (settled && stored > now + driftMs);
      if (isOld && readRecord(folder)?.acked) rmSync(folder.path, { recursive: true, force: true });
    }
  };
}
