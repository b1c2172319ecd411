import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, eventually, newMark, pidsWith } from "../../support/engine.ts";

describe("ending a tree", () => {
  let bench: Bench;
  beforeAll(() => (bench = new Bench()));
  afterAll(() => bench.close());

  const runaways: [string, (mark: string) => string][] = [
    ["children and a pipeline", (m) => `sh -c "sleep ${m}; true" & sleep ${m} | cat; wait`],
    ["a double fork", (m) => `(sleep ${m} &); sleep ${m} & wait`],
    ["a session of its own", (m) => `setsid sleep ${m} & sleep ${m}`],
    ["nohup", (m) => `nohup sleep ${m} & sleep ${m}`],
    ["a child of a session of its own", (m) => `setsid sh -c 'sleep ${m} & sleep ${m}' & wait`],
    ["a cleared environment", (m) => `env -i sleep ${m} & sleep ${m}`],
    ["a subshell that ignores TERM", (m) => `(trap '' TERM; while :; do sleep ${m}; done) & sleep ${m}`],
    ["a forking loop", (m) => `while :; do sleep ${m} & sleep 0.01; done`],
    ["stopped processes", (m) => `sleep ${m} & sleep 0.2; kill -STOP $!; wait`],
    ["a command that stopped its own group", (m) => `sleep ${m} & sleep 0.3; kill -STOP 0; sleep ${m}`],
  ];

  describe.each(runaways)("with %s", (_kind, commandOf) => {
    it("leaves nothing after stop", async () => {
      const mark = newMark();
      const id = bench.start(commandOf(mark));
      await eventually(() => pidsWith(`sleep\0${mark}`).length > 0);
      bench.supervisor.stop(id, { graceMs: 300, reason: "stopped" });
      expect(await bench.final(id)).toMatchObject({ status: "killed", reason: "stopped", survivors: [] });
      expect(pidsWith(mark)).toEqual([]);
    });

    it("leaves nothing after the signal KILL", async () => {
      const mark = newMark();
      const id = bench.start(commandOf(mark));
      await eventually(() => pidsWith(`sleep\0${mark}`).length > 0);
      await bench.supervisor.signal(id, "KILL", "tree");
      expect(await bench.final(id)).toMatchObject({
        status: "killed",
        reason: "signal",
        signal: "KILL",
        exitCode: null,
      });
      expect(pidsWith(mark)).toEqual([]);
    });

    it("leaves nothing after a timeout", async () => {
      const mark = newMark();
      const id = bench.start(commandOf(mark), { timeoutMs: 700, graceMs: 200 });
      expect(await bench.final(id)).toMatchObject({ status: "timed_out", reason: "hard_timeout" });
      expect(pidsWith(mark)).toEqual([]);
    });
  });

  it("gives a command its grace, then kills it", async () => {
    const id = bench.start("trap '' TERM INT HUP; while :; do sleep 0.1; done", { graceMs: 60_000 });
    await bench.running(id);
    bench.supervisor.stop(id, { graceMs: 600, reason: "stopped" });
    await bench.until(id, (report) => report.status === "stopping");
    const ended = await bench.final(id);
    expect(ended).toMatchObject({ status: "killed", signal: "KILL", exitCode: null });
    expect(ended.durationMs).toBeGreaterThanOrEqual(500);
  });

  it("lets the ending of a command be written that had stopped its own group", async () => {
    expect(await bench.run("kill -STOP $PPID; echo z; exit 10")).toMatchObject({
      status: "exited",
      exitCode: 10,
    });
  });

  it("ends a shell that waits for nothing any more, and says what became of the command", async () => {
    const id = bench.start("sleep 60");
    const { pid } = await bench.running(id);
    const shell = pidsWith(`${id}/run`).filter((other) => other !== pid);
    for (const waiting of shell) process.kill(waiting, "SIGSTOP");
    // Again and again, as nobody does: the agent lets it go on at first.
    const stopping = setInterval(
      () => shell.forEach((waiting) => pidsWith(id).includes(waiting) && process.kill(waiting, "SIGSTOP")),
      2,
    );
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    expect(await bench.final(id)).toMatchObject({ status: "killed", reason: "stopped", exitCode: null });
    clearInterval(stopping);
    expect(pidsWith(id)).toEqual([]);
  });

  it("lets a second stop shorten the grace", async () => {
    const id = bench.start("trap '' TERM; while :; do sleep 0.1; done");
    await bench.running(id);
    bench.supervisor.stop(id, { graceMs: 600_000, reason: "stopped" });
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    expect(await bench.final(id)).toMatchObject({ status: "killed", signal: "KILL" });
  });

  it("signals only the leader when asked to", async () => {
    const mark = newMark();
    const id = bench.start(`sleep ${mark} & exec sleep ${mark}1`);
    await bench.running(id);
    await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
    await bench.supervisor.signal(id, "TERM", "leader");
    const ended = await bench.final(id);
    expect(ended).toMatchObject({ status: "killed", reason: "signal", signal: "TERM" });
    expect(ended.survivors).toHaveLength(1);
    await bench.supervisor.signal(id, "KILL", "tree");
    await bench.until(id, (report) => report.survivors.length === 0);
    expect(pidsWith(mark)).toEqual([]);
  });

  it("cancels a start that has not been spawned", async () => {
    const ids = Array.from({ length: 12 }, () => bench.start("sleep 60; echo ran"));
    const last = ids.at(-1) ?? "";
    bench.supervisor.stop(last, { graceMs: 0, reason: "stopped" });
    expect(await bench.final(last)).toMatchObject({ status: "canceled", pid: null });
    for (const id of ids) bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    for (const id of ids) expect(["canceled", "killed"]).toContain((await bench.final(id)).status);
  });

  it("fences an id it never saw, so that a late start does nothing", async () => {
    const id = "proc_00000000000000000000000001";
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    expect(await bench.final(id)).toMatchObject({ status: "canceled" });
    bench.supervisor.start({ ...(await import("../../support/engine.ts")).launchOf("echo late"), id });
    expect(await bench.final(id)).toMatchObject({ status: "canceled", totalBytes: 0 });
  });
});
