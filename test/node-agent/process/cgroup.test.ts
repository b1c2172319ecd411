import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { Bench, eventually, newMark, pidsWith } from "../../support/engine.ts";
import { cgroupFolder, holdsAll, wallsOf } from "./cgroup-folder.ts";

const folder = cgroupFolder("groups");
const walls = wallsOf(folder);
afterAll(() => folder && rmdirSync(folder));

const groups = (): string[] => readdirSync(folder ?? "").filter((name) => name.startsWith("proc_"));
const setting = (id: string, file: string): string =>
  readFileSync(join(folder ?? "", id, file), "utf8").trim();

describe.runIf(folder !== undefined)("a delegated cgroup (skipped where no cgroup v2 can be had)", () => {
  let bench: Bench;
  beforeEach(() => void (bench = new Bench({ walls })));
  afterEach(async () => {
    await bench.close();
    for (const id of groups()) rmdirSync(join(folder ?? "", id));
  });

  it("holds what no other sign finds: a double fork with a cleared environment in a session of its own", async () => {
    const mark = newMark();
    const id = bench.start(`(env -i setsid sh -c 'sleep ${mark} & :' &) ; sleep ${mark}`);
    await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    expect(await bench.final(id)).toMatchObject({
      status: "killed",
      reason: "stopped",
      signal: "KILL",
      survivors: [],
    });
    expect(pidsWith(mark)).toEqual([]);
    bench.acknowledge(id);
    expect(groups()).toEqual([]);
  });

  it("holds what moved into a group that the command made in its own", async () => {
    const mark = newMark();
    const hidden = `env -i setsid sh -c 'mkdir $0/in; echo $$ >$0/in/cgroup.procs; exec sleep ${mark}' "$G" &`;
    const script = `G=${folder}/$DROVER_PROCESS_ID; ${hidden} while [ ! -d $G/in ]; do sleep 0.01; done; sleep 0.1`;
    const id = bench.start(script);
    await eventually(() => pidsWith(`sleep\0${mark}`).length === 1);
    expect((await bench.final(id)).survivors).toHaveLength(1);
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    await bench.until(id, ({ survivors }) => survivors.length === 0);
    bench.acknowledge(id);
    expect(groups()).toEqual([]);
  });

  it("is found again by an agent that has no such setting any more", async () => {
    const mark = newMark();
    const id = bench.start(`(env -i setsid sh -c 'sleep ${mark} & :' &) ; sleep ${mark}`);
    await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
    await bench.restart({ walls: wallsOf(undefined) });
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    await bench.final(id);
    expect(pidsWith(mark)).toEqual([]);
    bench.acknowledge(id);
    expect(groups()).toEqual([]);
  });

  it("is swept of the empty groups of an agent that died, and of no other", async () => {
    const id = bench.start("exec sleep 100.75");
    await bench.running(id);
    mkdirSync(join(folder ?? "", "proc_left"));
    await bench.restart();
    expect(groups()).toEqual([id]);
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    await bench.final(id);
    bench.acknowledge(id);
  });

  it("runs nothing where the group that was to hold a limit cannot be made", async () => {
    bench.supervisor = await another(bench, { cgroup: join(folder ?? "", "gone"), byKernel: ["pids"] });
    const ended = await bench.run("echo ran", { pids: 9 });
    expect(ended).toMatchObject({ status: "failed", reason: "spawn_error", totalBytes: 0 });
  });
});

const another = async (bench: Bench, change: object) => {
  await bench.restart({ walls: { ...walls, enforces: ["memBytes", "pids"], ...change } });
  return bench.supervisor;
};

describe.runIf(holdsAll(walls))(
  "limits by a cgroup (skipped where no cgroup v2 with memory, cpu and pids is delegated)",
  () => {
    let bench: Bench;
    beforeEach(() => void (bench = new Bench({ walls })));
    afterEach(() => bench.close());
    const memBytes = 64 * 1024 * 1024;
    const outOfMemory = { status: "timed_out", reason: "mem_limit", exitCode: null, signal: "KILL" };

    it("ends a command and all of it when a child takes more memory than all may, and calls it mem_limit", async () => {
      const ended = await bench.run("sleep 100.125 & sh -c 'tail /dev/zero'; echo after", { memBytes });
      expect(ended).toMatchObject({ ...outOfMemory, totalBytes: 0, survivors: [] });
    });

    it("says so too when it happened while no agent was there", async () => {
      const id = bench.start("read go; tail /dev/zero", { memBytes, stdin: "pipe" });
      await bench.running(id);
      await bench.supervisor.stdin(id, Buffer.from("go\n"), false);
      await bench.supervisor.close({ stopProcesses: false });
      const record = join(bench.dir, "procs", id, "run");
      await eventually(() => / end\n/.test(readFileSync(record, "utf8")));
      await bench.restart();
      expect(await bench.final(id)).toMatchObject(outOfMemory);
    });

    it("takes neither an exit code 137 nor a KILL of somebody else for the end of memory", async () => {
      expect(await bench.run("exit 137", { memBytes })).toMatchObject({ status: "exited", exitCode: 137 });
      expect(await bench.run("kill -9 $$", { memBytes })).toMatchObject({ status: "exited", signal: "KILL" });
    });

    it("lets no more processes live at once than pids says", async () => {
      const ended = await bench.run("for i in 1 2 3 4 5; do sleep 100.375 & done; echo all", { pids: 3 });
      expect(ended).toMatchObject({ status: "exited", exitCode: 2 });
      expect(await bench.text(ended.id)).toMatch(/fork/i);
      expect(ended.survivors).toHaveLength(2);
      bench.supervisor.stop(ended.id, { graceMs: 0, reason: "stopped" });
      await bench.until(ended.id, ({ survivors }) => survivors.length === 0);
    });

    it("gives all of a command the CPU time that it may take", async () => {
      const id = bench.start("exec sleep 100.625", { cpuPct: 25, memBytes, pids: 7 });
      await bench.running(id);
      expect(setting(id, "cpu.max")).toBe("25000 100000");
      expect(setting(id, "memory.max")).toBe(String(memBytes));
      expect(setting(id, "pids.max")).toBe("7");
      const group = join(folder ?? "", id);
      bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
      await bench.final(id);
      bench.acknowledge(id);
      expect(existsSync(group)).toBe(false);
    });
  },
);
