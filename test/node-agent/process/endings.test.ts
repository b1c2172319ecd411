import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeExit } from "../../../node-agent/process/ending.ts";
import { Bench } from "../../support/engine.ts";

/** busybox is a shell only by the name it is called by. */
const busyboxAsh = (): string[] => {
  const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));
  if (busybox === undefined) return [];
  const ash = join(mkdtempSync(join(tmpdir(), "drover-ash-")), "ash");
  symlinkSync(busybox, ash);
  return [ash];
};

const ash = busyboxAsh();
const shells = ["/bin/sh", "/bin/dash", "/bin/bash", "/bin/mksh", ...ash].filter((path) => existsSync(path));

afterAll(() => ash.forEach((path) => rmSync(dirname(path), { recursive: true })));

describe.each(shells)("endings under the wrapper shell %s", (shell) => {
  let bench: Bench;
  beforeAll(() => (bench = new Bench({ shell })));
  afterAll(() => bench.close());

  it.each(["KILL", "TERM", "HUP", "SEGV", "USR1", "ABRT"])(
    "tells death by %s from the exit code 128+n",
    async (signal) => {
      const died = await bench.run(`kill -${signal} $$`);
      expect(died).toMatchObject({ status: "exited", reason: null, signal, exitCode: null });
      const number = { HUP: 1, ABRT: 6, KILL: 9, USR1: 10, SEGV: 11, TERM: 15 }[signal] ?? 0;
      expect(await bench.run(`exit ${128 + number}`)).toMatchObject({
        status: "exited",
        signal: null,
        exitCode: 128 + number,
      });
    },
  );

  it.each([
    ["INT", 130],
    ["PIPE", 141],
  ])("takes %s for the code %i unless Drover sent it", async (signal, code) => {
    expect(await bench.run(`kill -${signal} $$`)).toMatchObject({
      status: "exited",
      exitCode: code,
      signal: null,
    });
  });

  it("does not say that a command never started when its record was removed", async () => {
    const folder = join(bench.dir, "procs", "$DROVER_PROCESS_ID");
    expect(await bench.run(`/bin/rm -rf "${folder}"; exit 3`)).toMatchObject({
      status: "lost",
      reason: "agent_state_lost",
      exitCode: null,
    });
  });

  it("knows an interrupt that was sent", async () => {
    const id = bench.start("sleep 60");
    await bench.running(id);
    await bench.supervisor.signal(id, "INT", "tree");
    expect(await bench.final(id)).toMatchObject({
      status: "killed",
      reason: "signal",
      signal: "INT",
      exitCode: null,
    });
  });

  it("gives a command that handles its signal the code it chose", async () => {
    const id = bench.start("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done");
    await bench.until(id, (report) => report.status === "running");
    const follower = await new Promise<string>((resolve) => {
      let text = "";
      bench.supervisor.follow(
        id,
        "merged",
        0,
        (chunk) => (
          (text += Buffer.from(chunk.bytes ?? []).toString()),
          text.includes("ready") && resolve(text),
          true
        ),
      );
    });
    expect(follower).toContain("ready");
    await bench.supervisor.signal(id, "TERM", "leader");
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 7, signal: null });
  });

  it("says 127 for a program that is missing and 126 for one that cannot run", async () => {
    expect(await bench.run("no_such_program_here")).toMatchObject({ status: "exited", exitCode: 127 });
    expect(await bench.run("/etc/passwd")).toMatchObject({ status: "exited", exitCode: 126 });
    const missing = await bench.run("", { command: null, argv: ["no_such_program_here"] });
    expect(missing).toMatchObject({ status: "exited", exitCode: 127 });
    expect(await bench.text(missing.id)).toBe("no_such_program_here: not found\n");
  });

  it("keeps a code above 255 as the system cuts it", async () => {
    expect(await bench.run("exit 300")).toMatchObject({ exitCode: 44 });
  });
});

describe("decodeExit", () => {
  it("takes a code for a signal only when the shell announced a death", () => {
    expect(decodeExit(137, true, new Set())).toEqual({ exitCode: null, signal: "KILL" });
    expect(decodeExit(137, false, new Set())).toEqual({ exitCode: 137, signal: null });
    expect(decodeExit(130, false, new Set(["INT"]))).toEqual({ exitCode: null, signal: "INT" });
    expect(decodeExit(3, true, new Set())).toEqual({ exitCode: 3, signal: null });
    expect(decodeExit(255, true, new Set())).toEqual({ exitCode: 255, signal: null });
  });
});
