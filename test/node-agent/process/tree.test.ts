import { describe, expect, it } from "vitest";
import type { ProcEntry } from "../../../node-agent/process/proc-table.ts";
import { parentsFirst } from "../../../node-agent/process/tree.ts";

const entry = (pid: number, ppid: number): ProcEntry => ({ pid, ppid }) as ProcEntry;
const order = (...entries: ProcEntry[]): number[] => parentsFirst(entries).map(({ pid }) => pid);

describe("the members of a command", () => {
  it("are told parents first, also where pids began anew in between", () => {
    expect(order(entry(12, 30_000), entry(13, 12), entry(30_000, 29_999))).toEqual([30_000, 12, 13]);
    expect(order(entry(20, 10), entry(30, 20), entry(40, 1))).toEqual([20, 40, 30]);
  });

  it("are all told where a look that was overtaken shows a circle", () => {
    expect(order(entry(1, 2), entry(2, 1)).toSorted((a, b) => a - b)).toEqual([1, 2]);
  });
});
