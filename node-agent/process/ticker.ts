import type { Child } from "./child.ts";
import { boundOutput, overBound } from "./disk-bound.ts";
import type { Verdict } from "./limits.ts";
import { isOverMemory, outOfMemory, wantsMemoryLook } from "./memory.ts";
import { scanProcs } from "./proc-table.ts";
import { membersOf } from "./tree.ts";

/**
 * One clock for all processes of the agent: every 50 ms while any lives, not at all while none does. A command that lives at
 * its first tick is reported as running; a shorter one only as ended. A process is looked at every 100 ms while its output grows, else every second; limits are compared at every tick. /proc is read at most
 * once a tick for all who need it, and at most every 200 ms.
 */
const tickMs = 50;
const growingLookMs = 100;
const calmLookMs = 1000;
const scanEveryMs = 200;
const survivorLookMs = 1000;
/** A tick that is later than this means that the machine or the agent stood still. */
const lateMs = 5000;

type Look = { nextMs: number; totalBytes: number; survivorsMs: number };

export class Ticker {
  #children: () => Iterable<Child>;
  #looks = new WeakMap<Child, Look>();
  #timer: NodeJS.Timeout | undefined;
  #lastMs = 0;
  #scanMs = 0;

  constructor(children: () => Iterable<Child>) {
    this.#children = children;
  }

  /** There is something to look at. */
  wake(): void {
    if (this.#timer) return;
    this.#lastMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const now = performance.now();
    const lost = now - this.#lastMs > lateMs ? now - this.#lastMs : 0;
    this.#lastMs = now;
    const living = [...this.#children()].filter((child) => child.lives);
    if (living.length === 0) return this.close();
    for (const child of living) {
      if (lost > 0) child.limits.lost(lost);
      this.#lookAt(child, now);
    }
    this.#scan(living, now);
    for (const child of living) enforce(child);
  }

  #lookAt(child: Child, now: number): void {
    const look = this.#lookOf(child, now);
    if (child.phase === "claimed") child.look();
    if (now < look.nextMs) return;
    const totalBytes = child.snapshots.totalBytes();
    const grew = totalBytes !== look.totalBytes;
    Object.assign(look, { totalBytes, nextMs: now + (grew ? growingLookMs : calmLookMs) });
    child.limits.outputIs(totalBytes);
    child.look();
    child.reportOutput();
    if (overBound(child)) void boundOutput(child);
  }

  #lookOf(child: Child, now: number): Look {
    const known = this.#looks.get(child);
    if (known) return known;
    const look = { nextMs: now, totalBytes: 0, survivorsMs: now };
    this.#looks.set(child, look);
    return look;
  }

  /** CPU of those with an idle limit, memory where the kernel does not bound it, and survivors of those that ended. */
  #scan(living: Child[], now: number): void {
    if (now - this.#scanMs < scanEveryMs) return;
    const idle = living.filter((child) => child.phase === "running" && child.limits.wantsCpu);
    const ended = living.filter(
      (child) => child.phase === "ended" && now - this.#lookOf(child, now).survivorsMs >= survivorLookMs,
    );
    const bounded = living.filter(wantsMemoryLook);
    if (idle.length + ended.length + bounded.length === 0) return;
    this.#scanMs = now;
    const table = scanProcs();
    for (const child of idle)
      child.limits.cpuIs(membersOf(child.tree, table).reduce((sum, member) => sum + member.cpuTicks, 0));
    for (const child of bounded) if (isOverMemory(child, table)) child.end(outOfMemory);
    for (const child of ended) {
      this.#lookOf(child, now).survivorsMs = now;
      child.watchSurvivors(table);
    }
  }
}

const enforce = (child: Child): void => {
  if (child.phase !== "running") return;
  const reason: Verdict = child.limits.verdict();
  if (reason) child.end({ status: "timed_out", reason, graceMs: child.spec.graceMs });
};
