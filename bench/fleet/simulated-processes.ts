// The processes of one simulated agent. Each start is `hostname` as a real agent tells it: running, a moment later ended
// with the node's name as its output. What was not acknowledged is said again on the next socket.

import type { Launch } from "#shared/link/launch.ts";
import type { Report } from "#shared/link/report.ts";
import { isFinal } from "#shared/process-state.ts";

const runsForMs = 10;

type Say = (frame: { type: "reports"; reports: Report[] }) => unknown;

export class SimulatedProcesses {
  readonly #nodeName: string;
  readonly #say: Say;
  readonly #reports = new Map<string, Report>();

  constructor(nodeName: string, say: Say) {
    this.#nodeName = nodeName;
    this.#say = say;
  }

  inventory(): { id: string; status: Report["status"]; revision: number }[] {
    return [...this.#reports.values()].map(({ id, status, revision }) => ({ id, status, revision }));
  }

  /** A start that came before changes nothing: its folder is there. */
  start({ id }: Launch): void {
    if (this.#reports.has(id)) return;
    this.#tell(runningReport(id));
    setTimeout(() => this.#tell(endedReport(id, `${this.#nodeName}\n`)), runsForMs);
  }

  /** What is alive or not acknowledged, on a new socket. */
  repeat(): void {
    if (this.#reports.size > 0) this.#say({ type: "reports", reports: [...this.#reports.values()] });
  }

  acknowledged(acks: { id: string; revision: number }[]): void {
    for (const { id, revision } of acks) {
      const report = this.#reports.get(id);
      if (report !== undefined && report.revision <= revision && isFinal(report.status))
        this.#reports.delete(id);
    }
  }

  forget(ids: string[]): void {
    for (const id of ids) this.#reports.delete(id);
  }

  #tell(report: Report): void {
    this.#reports.set(report.id, report);
    this.#say({ type: "reports", reports: [report] });
  }
}

const runningReport = (id: string): Report => ({
  id,
  revision: 1,
  status: "running",
  reason: null,
  detail: null,
  exitCode: null,
  signal: null,
  pid: 4711,
  cwd: "/root",
  startedAgeMs: 0,
  exitedAgeMs: null,
  durationMs: null,
  totalBytes: 0,
  omittedBytes: 0,
  lines: 0,
  survivors: [],
  snapshots: [],
});

const endedReport = (id: string, output: string): Report => ({
  ...runningReport(id),
  revision: 2,
  status: "exited",
  exitCode: 0,
  startedAgeMs: runsForMs,
  exitedAgeMs: 0,
  durationMs: runsForMs,
  totalBytes: output.length,
  lines: 1,
  snapshots: [
    { stream: "merged", head: Buffer.from(output).toString("base64"), tail: "", totalBytes: output.length },
  ],
});
