import { existsSync, mkdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canceled } from "../../../node-agent/process/ending.ts";
import { processFolder } from "../../../node-agent/process/folder.ts";
import { noteAcked, noteFinal } from "../../../node-agent/process/record.ts";
import { specOf } from "../../../node-agent/process/recovery.ts";
import { reaper } from "../../../node-agent/process/retention.ts";
import { temporaryFolder } from "../../support/engine.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const yearsMs = 10 * 365 * 24 * hourMs;

let procs: string;
let clock: { wallMs: number; steadyMs: number };
let reap: () => void;
beforeEach(() => {
  procs = temporaryFolder();
  clock = { wallMs: yearsMs * 5, steadyMs: 0 };
  reap = reaper(procs, hourMs, { wall: () => clock.wallMs, steady: () => clock.steadyMs });
});
afterEach(() => rmSync(procs, { recursive: true, force: true }));

const pass = (ms: number): void => {
  clock.wallMs += ms;
  clock.steadyMs += ms;
};
const setClock = (byMs: number): void => void (clock.wallMs += byMs);

/** A process whose ending is stored now. */
function stored(name: string): string {
  const folder = processFolder(procs, `proc_${name}`);
  mkdirSync(folder.path);
  noteFinal(folder, specOf(folder.id, {}), canceled);
  noteAcked(folder);
  utimesSync(join(folder.path, "run"), clock.wallMs / 1000, clock.wallMs / 1000);
  return folder.path;
}

describe("what ended and was stored", () => {
  it("is kept for its time and no longer", () => {
    const path = stored("a");
    pass(59 * minuteMs);
    reap();
    expect(existsSync(path)).toBe(true);
    pass(2 * minuteMs);
    reap();
    expect(existsSync(path)).toBe(false);
  });

  it.each([
    ["on", yearsMs],
    ["back", -yearsMs],
  ])("is kept for its time also when the clock is set %s by years, and then goes", (_, byMs) => {
    const before = stored("a");
    setClock(byMs);
    reap();
    const after = stored("b");
    pass(50 * minuteMs);
    reap();
    expect([before, after].map((path) => existsSync(path))).toEqual([true, true]);
    pass(20 * minuteMs);
    reap();
    expect([before, after].map((path) => existsSync(path))).toEqual([false, false]);
  });
});
