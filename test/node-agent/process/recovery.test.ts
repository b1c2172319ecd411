import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SupervisorNeeds } from "../../../node-agent/process/supervisor.ts";
import { Bench, eventually, launchOf, newMark, pidsWith } from "../../support/engine.ts";

const newBench = (needs?: Partial<SupervisorNeeds>): Bench => {
  const bench = new Bench(needs);
  onTestFinished(() => bench.close());
  return bench;
};

describe("an agent that starts again", () => {
  it("adopts what runs, keeps its pid, and reports its true ending", async () => {
    const bench = newBench();
    const id = bench.start("echo one; sleep 1; echo two; exit 5");
    const { pid } = await bench.running(id);
    await bench.restart();
    expect(bench.supervisor.inventory()).toMatchObject([{ id, status: "running" }]);
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 5, pid });
    expect(await bench.text(id)).toBe("one\ntwo\n");
  });

  it("reports what ended while nobody watched, with revisions that go on growing", async () => {
    const bench = newBench();
    const id = bench.start("sleep 0.3; echo done; kill -9 $$");
    const before = await bench.running(id);
    await bench.supervisor.close({ stopProcesses: false });
    await eventually(() => readFileSync(join(bench.dir, "procs", id, "run"), "latin1").includes(" end\n"));
    await bench.restart();
    const ended = await bench.final(id);
    expect(ended).toMatchObject({ status: "exited", signal: "KILL", exitCode: null, totalBytes: 5 });
    expect(ended.revision).toBeGreaterThan(before.revision);
  });

  it("holds a limit that ran on meanwhile", async () => {
    const bench = newBench();
    const id = bench.start("sleep 60", { timeoutMs: 1500 });
    await bench.running(id);
    await bench.restart();
    const ended = await bench.final(id);
    expect(ended).toMatchObject({ status: "timed_out", reason: "hard_timeout" });
    expect(ended.durationMs).toBeLessThan(4000);
  });

  it("goes on with a kill it had begun", async () => {
    const bench = newBench();
    const mark = newMark();
    const id = bench.start(`trap '' TERM; while :; do sleep ${mark}; done`);
    await bench.running(id);
    bench.supervisor.stop(id, { graceMs: 400, reason: "stopped" });
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({ status: "killed", reason: "stopped" });
    expect(pidsWith(mark)).toEqual([]);
  });

  it("says that the fate is unknown when the waiting shell was killed, and leaves nothing of it", async () => {
    const bench = newBench();
    const mark = newMark();
    const id = bench.start(`setsid sleep ${mark} & sleep ${mark}`);
    await bench.running(id);
    await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
    await bench.supervisor.close({ stopProcesses: false });
    for (const pid of pidsWith(join(id, "run"))) process.kill(pid, "SIGKILL");
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({
      status: "lost",
      reason: "wrapper_killed",
      exitCode: null,
      signal: null,
    });
    expect(pidsWith(mark)).toEqual([]);
  });

  it("says so too when the waiting shell is killed while it watches", async () => {
    const bench = newBench();
    const mark = newMark();
    const id = bench.start(`sleep ${mark}`);
    await bench.running(id);
    for (const pid of pidsWith(join(id, "run"))) process.kill(pid, "SIGKILL");
    expect(await bench.final(id)).toMatchObject({ status: "lost", reason: "wrapper_killed" });
    expect(pidsWith(mark)).toEqual([]);
  });

  it("calls what ran before a reboot lost, but not what had ended", async () => {
    const bench = newBench();
    const running = bench.start("sleep 60");
    const ended = bench.start("sleep 0.1; exit 3");
    await bench.running(running);
    await bench.supervisor.close({ stopProcesses: false });
    await eventually(() => readFileSync(join(bench.dir, "procs", ended, "run"), "latin1").includes(" end\n"));
    await bench.restart({ bootId: "another boot" });
    expect(await bench.final(running)).toMatchObject({
      status: "lost",
      reason: "node_rebooted",
      startedAgeMs: null,
    });
    expect(await bench.final(ended)).toMatchObject({ status: "exited", exitCode: 3, startedAgeMs: null });
    for (const pid of pidsWith(running)) process.kill(pid, "SIGKILL");
  });

  it("never mistakes another process for its own by the pid alone", async () => {
    const bench = newBench();
    const id = bench.start("sleep 60");
    const { pid } = await bench.running(id);
    // Born in another tick of the clock than the wrapper.
    const bystander = spawn("sleep", ["60"], { stdio: "ignore" });
    onTestFinished(() => void bystander.kill("SIGKILL"));
    await bench.supervisor.close({ stopProcesses: false });
    for (const own of pidsWith(id)) process.kill(own, "SIGKILL");
    const path = join(bench.dir, "procs", id, "run");
    const record = readFileSync(path, "latin1");
    const wrapper = /start \S+ (\d+)/.exec(record)?.[1] ?? "";
    writeFileSync(
      path,
      record
        .replaceAll(`leader ${pid} `, `leader ${bystander.pid} `)
        .replaceAll(` ${wrapper} (`, ` ${bystander.pid} (`),
      "latin1",
    );
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({ status: "lost" });
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
  });

  it("gives up a claim that was never started, so that the start may come again", async () => {
    const bench = newBench();
    const id = "proc_00000000000000000000000002";
    mkdirSync(join(bench.dir, "procs", id));
    await bench.restart();
    expect(bench.supervisor.inventory()).toEqual([]);
    bench.supervisor.start({ ...launchOf("echo again"), id });
    expect(await bench.final(id)).toMatchObject({ exitCode: 0, totalBytes: 6 });
  });

  it("has told nothing of a claim that it gives up: a start that was reported would not be sent again", async () => {
    const bench = newBench();
    const launch = launchOf("echo late");
    bench.supervisor.start(launch);
    expect(bench.supervisor.inventory()).toMatchObject([{ id: launch.id, status: "starting" }]);
    expect(bench.supervisor.report(launch.id)).toBeUndefined();
    expect(bench.supervisor.pendingReports()).toEqual([]);
    expect(await bench.final(launch.id)).toMatchObject({ exitCode: 0 });
  });

  it.each([
    ["before its record", ""],
    ["in the middle of its record", '#00000000 {"id":"proc'],
  ])("calls a start canceled that was stopped and never began, when it died %s", async (_when, written) => {
    const bench = newBench();
    const id = "proc_00000000000000000000000003";
    const folder = join(bench.dir, "procs", id);
    mkdirSync(folder);
    if (written !== "") writeFileSync(join(folder, "run"), written);
    const intent = { kind: "end", status: "killed", reason: "stopped", graceMs: 0 };
    writeFileSync(join(folder, "intent"), `${JSON.stringify(intent)}\n`);
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({ status: "canceled", reason: null });
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({ status: "canceled", reason: null });
    bench.supervisor.start({ ...launchOf("echo never"), id });
    expect(await bench.final(id)).toMatchObject({ status: "canceled", totalBytes: 0 });
  });

  it("runs a start once, however often it comes", async () => {
    const bench = newBench();
    const mark = newMark();
    const launch = launchOf(`echo x >> ${bench.dir.replaceAll(" ", "\\ ")}/${mark}; sleep 0.3`);
    bench.supervisor.start(launch);
    bench.supervisor.start(launch);
    await bench.running(launch.id);
    await bench.restart();
    bench.supervisor.start(launch);
    await bench.final(launch.id);
    bench.acknowledge(launch.id);
    bench.supervisor.start(launch);
    await bench.until(launch.id, (report) => report.status === "exited");
    expect(readFileSync(join(bench.dir, mark), "utf8")).toBe("x\n");
  });

  it("reports an ending until it is stored, then only when asked", async () => {
    const bench = newBench();
    const ended = await bench.run("echo hi");
    await bench.restart();
    expect(bench.supervisor.inventory()).toMatchObject([{ id: ended.id, status: "exited" }]);
    expect(bench.latest(ended.id)?.snapshots[0]?.head).toBe(Buffer.from("hi\n").toString("base64"));
    bench.acknowledge(ended.id);
    expect(bench.supervisor.inventory()).toEqual([]);
    await bench.restart();
    expect(bench.supervisor.inventory()).toEqual([]);
    expect(await bench.text(ended.id)).toBe("hi\n");
    bench.supervisor.forget([ended.id]);
    await expect(bench.text(ended.id)).rejects.toThrow("keeps no output");
  });

  it("still knows the survivors of an ended process", async () => {
    const bench = newBench();
    const mark = newMark();
    const ended = await bench.run(`sleep ${mark} & exit 0`);
    expect(ended.survivors).toHaveLength(1);
    bench.acknowledge(ended.id);
    await bench.restart();
    expect(await bench.until(ended.id, (report) => report.survivors.length === 1)).toMatchObject({
      status: "exited",
    });
    bench.supervisor.stop(ended.id, { graceMs: 0, reason: "stopped" });
    await bench.until(ended.id, (report) => report.survivors.length === 0);
    expect(pidsWith(mark)).toEqual([]);
  });
});

describe("an agent that ends its processes", () => {
  const stubborn = "trap '' TERM; while :; do sleep 0.1; done";
  const stopAndLeave = (bench: Bench) =>
    bench.supervisor.close({ stopProcesses: true, signal: AbortSignal.abort() });

  it("leaves those that are left when it is told to, as running as they were, for the next agent to keep", async () => {
    const bench = newBench();
    const id = bench.start(stubborn);
    await bench.running(id);
    expect(await stopAndLeave(bench)).toEqual({ left: 1, stopped: 0 });
    await bench.restart();
    expect(bench.supervisor.inventory()).toMatchObject([{ id, status: "running" }]);
    expect(bench.reports.map(({ status }) => status)).not.toContain("stopping");
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    expect(await bench.final(id)).toMatchObject({ status: "killed", reason: "stopped" });
  });

  it("leaves a stop that somebody asked for to the next agent", async () => {
    const bench = newBench();
    const id = bench.start(stubborn);
    await bench.running(id);
    bench.supervisor.stop(id, { graceMs: 100, reason: "stopped" });
    expect(await stopAndLeave(bench)).toEqual({ left: 1, stopped: 0 });
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({ status: "killed", reason: "stopped" });
  });

  it("knows of one that it left and that then ended by its TERM, that it was killed", async () => {
    const bench = newBench();
    const id = bench.start(
      "trap 'sleep 0.3; trap - TERM; kill $$' TERM; echo up; while :; do sleep 0.1; done",
    );
    await eventually(async () => (await bench.text(id)) === "up\n");
    await stopAndLeave(bench);
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({ status: "killed", reason: "signal", signal: "TERM" });
  });

  it("cancels starts that have not begun, and those that come meanwhile, and counts neither", async () => {
    const bench = newBench({ environment: new Promise(() => undefined) });
    const waiting = bench.start("exit 0");
    expect(await bench.supervisor.close({ stopProcesses: true })).toEqual({ left: 0, stopped: 0 });
    expect(await bench.final(waiting)).toMatchObject({ status: "canceled" });
    const late = bench.start("exit 0");
    expect(await bench.final(late)).toMatchObject({ status: "canceled" });
  });
});

it("an agent that leaves its processes does not count a start that has not begun", async () => {
  const bench = newBench({ environment: new Promise(() => undefined) });
  bench.start("exit 0");
  expect(await bench.supervisor.close({ stopProcesses: false })).toEqual({ left: 0, stopped: 0 });
});
