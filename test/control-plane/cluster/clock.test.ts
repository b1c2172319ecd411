import { describe, expect, it } from "vitest";
import { SharedClock } from "../../../control-plane/cluster/clock.ts";
import type { Log } from "../../../control-plane/needs.ts";

const began = Date.UTC(2026, 0, 1);

function clockOf(aheadMs: number) {
  const machine = { atMs: began + aheadMs };
  const logged: string[] = [];
  const add = (event: string): void => void logged.push(event);
  const log: Log = { debug: add, info: add, warn: add, error: add, hide: add };
  return { clock: new SharedClock(log, () => machine.atMs), machine, logged };
}

describe("the clock that control planes share", () => {
  it("goes by the database, whatever the machine says, and follows when the machine's clock jumps", async () => {
    const { clock, machine, logged } = clockOf(600_000);
    await clock.set(() => Promise.resolve(new Date(began)));
    expect(clock.now()).toEqual(new Date(began));
    expect(logged).toEqual(["clock.skewed"]);
    machine.atMs += 4000 - 1_200_000;
    await clock.set(() => Promise.resolve(new Date(began + 4000)));
    expect(clock.now()).toEqual(new Date(began + 4000));
  });

  it("takes the time for that of the middle between question and answer", async () => {
    const { clock, machine } = clockOf(60_000);
    await clock.set(() => {
      machine.atMs += 1000;
      return Promise.resolve(new Date(began + 500));
    });
    expect(clock.now()).toEqual(new Date(began + 1000));
  });

  it("leaves alone what may be the way's doing", async () => {
    const { clock, machine, logged } = clockOf(400);
    await clock.set(() => {
      machine.atMs += 1000;
      return Promise.resolve(new Date(began + 1000));
    });
    expect(clock.now().getTime()).toBe(machine.atMs);
    expect(logged).toEqual([]);
  });

  it("stays as it is when the database does not answer", async () => {
    const { clock, machine } = clockOf(60_000);
    await expect(clock.set(() => Promise.reject(new Error("away")))).rejects.toThrow("away");
    expect(clock.now().getTime()).toBe(machine.atMs);
  });
});
