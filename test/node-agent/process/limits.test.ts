import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  newLimitState,
  verdict,
  withCpu,
  withLostTime,
  withOutput,
} from "../../../node-agent/process/limits.ts";
import { Bench } from "../../support/engine.ts";

const limits = {
  timeoutMs: null,
  idleTimeoutMs: 1000,
  idleOn: ["output", "cpu"] as const,
  outputBytes: null,
};

describe("limits as a rule", () => {
  it("fires the hard limit at its time and not before, however long it is", () => {
    const month = 30 * 24 * 3600 * 1000;
    const state = newLimitState(0, 0);
    const hard = { ...limits, idleTimeoutMs: null, timeoutMs: month };
    expect(verdict(hard, state, month - 1)).toBeNull();
    expect(verdict(hard, state, month)).toBe("hard_timeout");
  });

  it("takes growth and work for progress, each only where it was chosen", () => {
    const state = newLimitState(0, 0);
    expect(verdict(limits, withOutput(limits, state, 5, 900), 1800)).toBeNull();
    expect(
      verdict(
        { ...limits, idleOn: ["cpu"] },
        withOutput({ ...limits, idleOn: ["cpu"] }, state, 5, 900),
        1800,
      ),
    ).toBe("idle_timeout");
    expect(verdict(limits, withCpu(state, 50, 900), 1800)).toBeNull();
    expect(verdict(limits, withCpu(state, 1, 900), 1800)).toBe("idle_timeout");
  });

  it("gives back the time in which the clock stood still", () => {
    expect(verdict(limits, withLostTime(newLimitState(0, 0), 60_000), 60_900)).toBeNull();
  });

  it("ends what wrote more than it may", () => {
    const bounded = { ...limits, outputBytes: 10 };
    expect(verdict(bounded, withOutput(bounded, newLimitState(0, 0), 11, 1), 1)).toBe("log_limit");
  });
});

describe("limits of real processes", () => {
  let bench: Bench;
  beforeAll(() => (bench = new Bench()));
  afterAll(() => bench.close());

  it("ends what is silent and idle, not what writes or works", async () => {
    const ids = {
      silent: bench.start("echo start; sleep 30", { idleTimeoutMs: 700 }),
      writing: bench.start("for i in 1 2 3 4 5; do echo $i; sleep 0.4; done", { idleTimeoutMs: 1200 }),
      working: bench.start("t=$(($(date +%s) + 3)); while [ $(date +%s) -lt $t ]; do :; done", {
        idleTimeoutMs: 1200,
      }),
    };
    expect(await bench.final(ids.silent)).toMatchObject({
      status: "timed_out",
      reason: "idle_timeout",
      totalBytes: 6,
    });
    expect(await bench.final(ids.writing)).toMatchObject({ status: "exited", exitCode: 0 });
    expect(await bench.final(ids.working)).toMatchObject({ status: "exited", exitCode: 0 });
  });

  it("does not turn a finished command into a timed out one", async () => {
    const ended = await bench.run("sleep 5 & exit 0", { timeoutMs: 1000 });
    expect(ended).toMatchObject({ status: "exited", exitCode: 0 });
    expect(await bench.until(ended.id, (report) => report.survivors.length === 0)).toMatchObject({
      status: "exited",
      exitCode: 0,
    });
  });

  it("ends a flood at outputBytes, keeping what was written", async () => {
    const ended = await bench.run("yes", { outputBytes: 1_000_000, logBytes: 65_536 * 4 });
    expect(ended).toMatchObject({ status: "timed_out", reason: "log_limit" });
    expect(ended.totalBytes).toBeGreaterThan(1_000_000);
  });

  it("moves the hard limit of a running process", async () => {
    const id = bench.start("sleep 1.2; echo late", { timeoutMs: 800 });
    await bench.running(id);
    expect(await bench.supervisor.extend(id, 60_000)).toEqual({ value: {} });
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 0 });
    const other = bench.start("sleep 30");
    await bench.running(other);
    expect(await bench.supervisor.extend(other, 1)).toHaveProperty("error");
    await bench.supervisor.extend(other, 1500);
    expect(await bench.final(other)).toMatchObject({ status: "timed_out" });
  });

  it("is changed by an extension that comes before the command was launched", async () => {
    const id = bench.start("sleep 0.5; echo done", { timeoutMs: 200 });
    expect(await bench.supervisor.extend(id, 60_000)).toEqual({ value: {} });
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 0 });
  });
});
