import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Report } from "#shared/link/report.ts";
import { closeCodes } from "#shared/link/limits.ts";
import { launchOf, temporaryFolder } from "../support/engine.ts";
import { FakeControlPlane, type AgentEnd } from "./link/fake-control-plane.ts";

const program = join(import.meta.dirname, "agent-process.ts");

let parent: string;
let plane: FakeControlPlane;
const started: AgentProcess[] = [];
/** What was started by agents and outlives them by design. */
const leftovers: number[] = [];

class AgentProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<number | NodeJS.Signals | null>;
  text = "";

  constructor(argv: string[], wrapper: string[] = []) {
    const [command = "", ...args] = [...wrapper, process.execPath, program, ...argv];
    this.child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, DROVER_URL: plane.url, DROVER_JOIN_TOKEN: "join-token-1" },
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on("data", (data: Buffer) => (this.text += data.toString()));
    this.ended = new Promise((resolve) =>
      this.child.once("close", (code, signal) => resolve(signal ?? code)),
    );
    started.push(this);
  }

  get pid(): number {
    return this.child.pid ?? expect.fail("not started");
  }
}

const agent = (...argv: string[]): AgentProcess =>
  new AgentProcess(["--data-dir", join(parent, "data"), "--name", "n1", ...argv]);

/** Reports until one fits, each acknowledged. */
async function reportWhere(end: AgentEnd, fits: (report: Report) => boolean): Promise<Report> {
  for (;;) {
    const { reports } = await end.next("reports");
    end.send({ type: "acknowledge", acks: reports.map(({ id, revision }) => ({ id, revision })) });
    const found = reports.find(fits);
    if (found?.pid) leftovers.push(found.pid);
    if (found) return found;
  }
}

async function runningOn(end: AgentEnd, command: string): Promise<Report & { pid: number }> {
  const launch = launchOf(command);
  end.send({ type: "start", launch });
  const report = await reportWhere(
    end,
    ({ id, status, pid }) => id === launch.id && status === "running" && pid !== null,
  );
  return { ...report, pid: report.pid ?? 0 };
}

const isAlive = (pid: number): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
};

beforeEach(async () => {
  parent = temporaryFolder();
  plane = await new FakeControlPlane().listen();
});
afterEach(async () => {
  for (const { child } of started) child.kill("SIGKILL");
  await Promise.all(started.splice(0).map(({ ended }) => ended));
  for (const pid of leftovers.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await plane.close();
  rmSync(parent, { recursive: true, force: true, maxRetries: 20 });
});

describe("an agent", () => {
  it("enrols once, leaves its processes running when it is stopped, and finds them again", async () => {
    const first = agent("--label", "env=test");
    const end = await plane.welcomed();
    const running = await runningOn(end, "exec sleep 100");
    first.child.kill("SIGTERM");
    await end.next("goodbye");
    expect(await first.ended).toBe(0);
    expect(isAlive(running.pid)).toBe(true);
    expect(first.text).toContain("agent.stopped leftRunning=1");

    agent();
    const back = await plane.agent();
    const [item] = (await back.next("hello")).inventory;
    expect(item).toMatchObject({ id: running.id, status: "running" });
    expect(item?.revision).toBeGreaterThan(running.revision);
    expect(plane.enrolments).toHaveLength(1);
    expect(new Set(plane.authorizations).size).toBe(1);
  });

  it("ends its processes first when asked to, reports their endings before it says goodbye, and says how many", async () => {
    const one = agent("--stop-processes");
    const end = await plane.welcomed();
    const running = await runningOn(end, "exec sleep 100");
    one.child.kill("SIGINT");
    expect(
      await reportWhere(end, ({ id, exitedAgeMs }) => id === running.id && exitedAgeMs !== null),
    ).toMatchObject({ status: "killed", reason: "agent_stopped" });
    await end.next("goodbye");
    expect(await one.ended).toBe(0);
    expect(one.text).toContain("agent.stopped stopped=1 leftRunning=0");
    expect(isAlive(running.pid)).toBe(false);
  });

  it("leaves at a second signal what has not ended at the first", async () => {
    const one = agent("--stop-processes");
    const end = await plane.welcomed();
    const running = await runningOn(end, "trap '' TERM; while :; do sleep 100; done");
    one.child.kill("SIGINT");
    const intent = join(parent, "data/procs", running.id, "intent");
    await vi.waitFor(() => expect(readFileSync(intent, "utf8")).toContain("agent_stopped"), 10_000);
    // What tells a second wish from an echo of the first is time (300 ms), and nothing else.
    await pause(400);
    one.child.kill("SIGINT");
    expect(await one.ended).toBe(0);
    expect(one.text).toContain("leftRunning=1");
  });

  it("takes one Ctrl-C that arrives twice as one", async () => {
    const one = agent("--stop-processes");
    const end = await plane.welcomed();
    const running = await runningOn(end, "exec sleep 100");
    one.child.kill("SIGINT");
    one.child.kill("SIGTERM");
    expect(await one.ended).toBe(0);
    expect(isAlive(running.pid)).toBe(false);
  });

  it("keeps its processes when it is killed, and its successor reports on", async () => {
    const first = agent();
    const running = await runningOn(await plane.welcomed(), "sleep 1; echo done");
    first.child.kill("SIGKILL");
    await first.ended;
    agent();
    const end = await plane.welcomed();
    expect(
      await reportWhere(end, ({ id, status }) => id === running.id && status === "exited"),
    ).toMatchObject({ exitCode: 0, totalBytes: 5 });
  });

  it("stops while it waits for a control plane to enrol with", async () => {
    plane.onEnroll = () => "hang up";
    const one = agent();
    await vi.waitFor(() => expect(one.text).toContain("enroll.waiting"), 10_000);
    one.child.kill("SIGTERM");
    expect(await one.ended).toBe(0);
  });

  it("shows its join token in no list of processes and no log", async () => {
    const one = agent("--token", "join-token-2");
    const end = await plane.welcomed();
    const launch = launchOf(
      "cat /proc/$PPID/environ | tr '\\0' '\\n' | grep -c join-token; env | grep -c join-token",
    );
    end.send({ type: "start", launch });
    // What a report before the last has brought is not told again.
    let head = "";
    await reportWhere(end, ({ id, status, snapshots }) => {
      if (id === launch.id) head = snapshots[0]?.head ?? head;
      return id === launch.id && status === "exited";
    });
    expect(Buffer.from(head, "base64").toString()).toBe("0\n0\n");
    expect(readFileSync(`/proc/${one.pid}/cmdline`, "latin1")).not.toContain("join-token-2");
    expect(one.text).not.toContain("join-token");
  });
});

describe("an agent that cannot go on", () => {
  const outcome = async ({ ended, text, child }: AgentProcess) => ({
    code: await ended,
    pid: child.pid,
    before: text,
  });

  it("says in one line what is wrong with a setting", async () => {
    const one = agent("--max-processes", "many");
    expect((await outcome(one)).code).toBe(2);
    expect(one.text).toBe("drover agent: --max-processes: must be a whole number\n");
  });

  it("names the agent that holds its data folder", async () => {
    const first = agent();
    await plane.welcomed();
    const second = agent();
    expect(await second.ended).toBe(2);
    expect(second.text).toMatch(
      new RegExp(`^drover agent: the data folder .* is used by another agent \\(pid ${first.pid}\\)\\n$`),
    );
  });

  it("names a twin, and leaves the processes alone", async () => {
    const first = agent();
    const end = await plane.welcomed();
    const running = await runningOn(end, "exec sleep 100");
    end.socket.close(closeCodes.duplicateAgent, "it is connected from elsewhere");
    expect(await first.ended).toBe(2);
    expect(first.text).toContain("drover agent: another agent is connected as this node");
    expect(isAlive(running.pid)).toBe(true);
  });

  it("asks before it touches the processes of a copied data folder", async () => {
    agent();
    const end = await plane.welcomed();
    const running = await runningOn(end, "exec sleep 100");
    cpSync(join(parent, "data"), join(parent, "copy"), { recursive: true, verbatimSymlinks: true });
    const copy = new AgentProcess(["--data-dir", join(parent, "copy")]);
    const copyEnd = await plane.agent();
    expect((await copyEnd.next("hello")).inventory).toEqual([]);
    copyEnd.socket.close(closeCodes.duplicateAgent);
    expect(await copy.ended).toBe(2);
    expect(copy.text).toContain("its data folder was copied");
    expect(isAlive(running.pid)).toBe(true);
  });

  it("goes on in a data folder that was moved, once it is welcome", async () => {
    const first = agent();
    await plane.welcomed();
    first.child.kill("SIGTERM");
    await first.ended;
    cpSync(join(parent, "data"), join(parent, "moved"), { recursive: true, verbatimSymlinks: true });
    new AgentProcess(["--data-dir", join(parent, "moved")]);
    const asked = await plane.welcomed();
    expect(await asked.closed).toBe(1000);
    await (await plane.welcomed()).next("load");
  });
});

const canUnshare = (): boolean => {
  try {
    execFileSync("unshare", ["-p", "-f", "--mount-proc", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

describe.skipIf(!canUnshare())("an agent as the first process of a container", () => {
  const children = (pid: number): number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  const first = () =>
    new AgentProcess(
      ["--data-dir", join(parent, "data"), "--name", "n1"],
      ["unshare", "-p", "-f", "--kill-child", "--mount-proc"],
    );
  const pidOne = (one: AgentProcess): number => children(one.pid)[0] ?? expect.fail("nothing was started");

  it("collects the orphans of its commands", async () => {
    const one = first();
    const end = await plane.welcomed();
    const launches = Array.from({ length: 12 }, () => launchOf("(sleep 0.1 &)"));
    for (const launch of launches) end.send({ type: "start", launch });
    const over = new Set<string>();
    while (over.size < launches.length) {
      for (const { id, status } of (await end.next("reports")).reports) if (status === "exited") over.add(id);
    }
    await vi.waitFor(() => expect(children(pidOne(one))).toHaveLength(1), 10_000);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("stops orderly when pid 1 gets %s", async (signal) => {
    const one = first();
    const end = await plane.welcomed();
    await end.next("load");
    process.kill(pidOne(one), signal);
    await end.next("goodbye");
    expect(await one.ended).toBe(0);
    expect(one.text).toContain("agent.stopped");
  });

  it("hands on its exit code", async () => {
    const one = first();
    (await plane.welcomed()).socket.close(closeCodes.revoked);
    expect(await one.ended).toBe(2);
  });
});
