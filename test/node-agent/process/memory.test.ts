import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, pidsWith } from "../../support/engine.ts";

const mib = 1024 * 1024;

describe("limits.memBytes where there is no cgroup", () => {
  let bench: Bench;
  beforeAll(() => void (bench = new Bench()));
  afterAll(() => bench.close());

  it("ends a command and all of it when together they take more, and calls it mem_limit", async () => {
    const ended = await bench.run("sleep 100.8125 & tail /dev/zero; echo after", { memBytes: 100 * mib });
    expect(ended).toMatchObject({
      status: "timed_out",
      reason: "mem_limit",
      exitCode: null,
      signal: "KILL",
      totalBytes: 0,
      survivors: [],
    });
    expect(pidsWith("100.8125")).toEqual([]);
  });

  it("counts once what several of its processes share", async () => {
    // Five processes, of which each shows the same 60 MB as its own.
    const forks = `$x = "a" x (60 * ${mib}); for (1..4) { last unless fork } sleep 2`;
    const ended = await bench.run(`exec perl -e '${forks}'`, { memBytes: 200 * mib });
    expect(ended).toMatchObject({ status: "exited", exitCode: 0 });
  });

  it("holds what lives on after the leader, and leaves its ending as it was", async () => {
    const ended = await bench.run("(sleep 1; exec tail /dev/zero) & exit 3", { memBytes: 100 * mib });
    expect(ended).toMatchObject({ status: "exited", exitCode: 3 });
    expect(ended.survivors).not.toEqual([]);
    expect(await bench.until(ended.id, ({ survivors }) => survivors.length === 0)).toMatchObject({
      status: "exited",
      exitCode: 3,
    });
  });
});

describe("a limit that nothing here can hold", () => {
  it("is no start: nothing runs, and the ending names the field", async () => {
    const bench = new Bench();
    const ended = await bench.run("echo ran", { pids: 9 });
    expect(ended).toMatchObject({ status: "failed", reason: "spawn_error", totalBytes: 0 });
    expect(ended.detail).toContain("limits.pids");
    await bench.close();
  });
});
