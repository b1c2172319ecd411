import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { disown } from "../../../node-agent/process/disown.ts";
import { Bench, bootId, eventually, newMark, pidsWith } from "../../support/engine.ts";

const newBench = (...how: ConstructorParameters<typeof Bench>): Bench => {
  const bench = new Bench(...how);
  onTestFinished(() => bench.close());
  return bench;
};
const recordOf = (bench: Bench, id: string): string => join(bench.dir, "procs", id, "run");

describe("a data folder that was copied", () => {
  it("knows endings, says of everything else that it does not know, and touches no process", async () => {
    const original = newBench();
    const running = original.start("read -r line; exit 7", { stdin: "pipe" });
    const ended = original.start("exit 3");
    await Promise.all([original.running(running), original.final(ended)]);
    const copied = `${original.dir}-copy`;
    cpSync(original.dir, copied, { recursive: true });
    expect(disown(join(copied, "procs"), bootId)).toBe(1);
    const copy = newBench({}, copied);
    expect(await copy.final(running)).toMatchObject({ status: "lost", reason: "agent_state_lost" });
    expect(await copy.final(ended)).toMatchObject({ status: "exited", exitCode: 3 });
    copy.supervisor.stop(running, { graceMs: 0, reason: "stopped" });
    await original.supervisor.stdin(running, new Uint8Array(), true);
    expect(await original.final(running)).toMatchObject({ status: "exited", exitCode: 7 });
  });

  it("from another machine says nothing of its processes either, also of pids that are taken here", async () => {
    const bench = newBench();
    const mark = newMark();
    const id = bench.start(`sleep ${mark}`);
    await bench.running(id);
    await bench.supervisor.close({ stopProcesses: false });
    const record = readFileSync(recordOf(bench, id), "latin1");
    writeFileSync(recordOf(bench, id), record.replace(bootId, "farr-boot"), "latin1");
    expect(disown(join(bench.dir, "procs"), bootId)).toBe(1);
    await bench.restart();
    expect(await bench.final(id)).toMatchObject({ status: "lost", reason: "agent_state_lost" });
    expect(pidsWith(mark)).not.toEqual([]);
    for (const pid of new Set([...pidsWith(mark), ...pidsWith(id)])) process.kill(pid, "SIGKILL");
  });
});

describe("a data folder that is where its processes write", () => {
  it("keeps them, however its files are counted now", async () => {
    const bench = newBench();
    const id = bench.start("read -r line; exit 5", { stdin: "pipe" });
    await bench.running(id);
    await bench.supervisor.close({ stopProcesses: false });
    expect(disown(join(bench.dir, "procs"), bootId)).toBe(0);
    await bench.restart();
    await eventually(async () => "value" in (await bench.supervisor.stdin(id, new Uint8Array(), true)));
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 5 });
  });
});

describe("a recall", () => {
  it("says again how something ended that was stored, and answers what there is no record of", async () => {
    const bench = newBench();
    const id = bench.start("exit 3");
    await bench.final(id);
    bench.acknowledge(id);
    bench.reports.length = 0;
    const none = "proc_00000000000000000000000009";
    expect(await bench.supervisor.recall([id, none, "../odd"])).toEqual({ value: { known: [id] } });
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 3 });
  });
});
