import { rmSync } from "node:fs";
import { join } from "node:path";
import { newId } from "#shared/ids.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Report } from "#shared/link/report.ts";
import { isFinal } from "#shared/process-state.ts";
import { accountOf, captureBase } from "../../node-agent/process/environment.ts";
import { usersOf } from "../../node-agent/process/users.ts";
import { Supervisor, type SupervisorNeeds } from "../../node-agent/process/supervisor.ts";
import { temporaryFolder } from "./eventually.ts";

export { eventually, pidsWith, temporaryFolder } from "./eventually.ts";

export const bootId = "test-boot";

/** A profile is run once for all tests of a file. */
const environment = captureBase(process.env, accountOf(process.env));

/** A launch with everything a start leaves out filled in. */
export const launchOf = (command: string, more: Partial<Launch> = {}): Launch => ({
  id: newId("proc"),
  chatId: null,
  command,
  argv: null,
  shell: "sh",
  cwd: "/tmp",
  env: {},
  stdin: "none",
  output: "merged",
  timeoutMs: null,
  idleTimeoutMs: null,
  idleOn: ["output", "cpu"],
  graceMs: 5000,
  logBytes: 64 * 1024 * 1024,
  outputBytes: null,
  nice: null,
  keepDescendants: true,
  memBytes: null,
  cpuPct: null,
  pids: null,
  user: null,
  ...more,
});

/** A supervisor as the link sees it; `acknowledges` plays a control plane that stores every report. */
export class Bench {
  readonly dir: string;
  supervisor: Supervisor;
  readonly reports: Report[] = [];
  #waiting: (() => void)[] = [];
  #generation = 1;
  #more: Partial<SupervisorNeeds>;

  constructor(more: Partial<SupervisorNeeds> = {}, dir = temporaryFolder()) {
    this.dir = dir;
    this.#more = more;
    this.supervisor = this.#make();
  }

  #make(): Supervisor {
    const supervisor = new Supervisor({
      procs: join(this.dir, "procs"),
      bootId,
      generation: this.#generation++,
      nodeName: () => "n1",
      environment,
      users: usersOf(process.env),
      cwd: "/tmp",
      ...this.#more,
    });
    supervisor.onReport = (id) => this.#take(supervisor.report(id));
    for (const report of supervisor.pendingReports()) this.#take(report);
    return supervisor;
  }

  #take(report: Report | undefined): void {
    if (report) this.reports.push(report);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The next agent on the same data folder; the old one stops looking, as after its death. */
  async restart(more: Partial<SupervisorNeeds> = {}): Promise<void> {
    await this.supervisor.close({ stopProcesses: false });
    this.#more = { ...this.#more, ...more };
    this.supervisor = this.#make();
  }

  latest(id: string): Report | undefined {
    return this.reports.findLast((report) => report.id === id);
  }

  /** Waits until the newest report of a process satisfies the condition. */
  async until(id: string, holds: (report: Report) => boolean, ms = 20_000): Promise<Report> {
    const deadline = Date.now() + ms;
    for (;;) {
      const now = this.latest(id);
      if (now && holds(now)) return now;
      if (Date.now() > deadline) throw new Error(`not reported in ${ms} ms: ${JSON.stringify(now)}`);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        setTimeout(resolve, 200);
      });
    }
  }

  final(id: string, ms?: number): Promise<Report> {
    return this.until(id, (report) => isFinal(report.status), ms);
  }

  running(id: string): Promise<Report> {
    return this.until(id, (report) => report.status === "running");
  }

  async run(command: string, more: Partial<Launch> = {}): Promise<Report> {
    const launch = launchOf(command, more);
    this.supervisor.start(launch);
    return this.final(launch.id);
  }

  start(command: string, more: Partial<Launch> = {}): string {
    const launch = launchOf(command, more);
    this.supervisor.start(launch);
    return launch.id;
  }

  acknowledge(id: string): void {
    const report = this.latest(id);
    if (report) this.supervisor.acknowledged([{ id, revision: report.revision }]);
  }

  /** All bytes of a stream that are kept. */
  async bytes(id: string, stream: "merged" | "stdout" | "stderr" = "merged"): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let from = 0; ;) {
      const answer = await this.supervisor.read({ type: "read", rid: "r", id, stream, from });
      if ("error" in answer) throw new Error(answer.error.message);
      const {
        parts: read,
        totalBytes,
        gaps,
      } = answer.value as {
        totalBytes: number;
        parts: { to: number; b64: string }[];
        gaps: { to: number }[];
      };
      parts.push(...read.map((part) => Buffer.from(part.b64, "base64")));
      from = read.at(-1)?.to ?? gaps[0]?.to ?? totalBytes;
      if (from >= totalBytes) return Buffer.concat(parts);
    }
  }

  async text(id: string, stream?: "merged" | "stdout" | "stderr"): Promise<string> {
    return (await this.bytes(id, stream)).toString("utf8");
  }

  /** Ends whatever a test left and removes the folder. */
  async close(): Promise<void> {
    await this.supervisor.close({ stopProcesses: true });
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A number no other test uses, to find a test's own sleeps. */
let marks = process.pid * 1000;
export const newMark = (): string => `30${marks++}`;
