import type { DownFrame } from "#shared/link/frames.ts";
import { pause } from "#shared/pause.ts";
import type { Report } from "#shared/link/report.ts";
import type { Log } from "../needs.ts";
import type { ProcessReport } from "../store/store.ts";
import { newestReport, placedReport, weightOf } from "./placed-report.ts";
import type { WriteReports } from "./report-writer.ts";

/**
 * The reports of one session on their way to the writer of all. They are handed on at once when none is being stored, else they
 * gather, the newest of each process, until that is done. A report is acknowledged after its
 * commit and never before; while the database is away reports wait here up to a cap, then the socket is given up and
 * the agent, which keeps what was not acknowledged, says it again.
 */
export type IntakeNeeds = {
  nodeId: string;
  epoch: number;
  write: WriteReports;
  log: Log;
  now: () => Date;
  send: (frame: DownFrame) => boolean;
  /** Whether the session still holds its node; one that does not writes nothing. */
  current: () => boolean;
  pauses: { first: number; longest: number };
  signal: AbortSignal;
  /** Called after each commit. */
  onStored: (reports: ProcessReport[], changed: string[]) => void;
  /** A process lives though its row says that it never will. */
  onUnwanted: (id: string) => void;
  /** Another session holds the node: this one writes nothing more. */
  onOutdated: () => void;
};

const maxWaitingBytes = 64 * 1024 * 1024;
const maxBatch = 500;
const maxBatchBytes = 4 * 1024 * 1024;

export class Intake {
  readonly #needs: IntakeNeeds;
  readonly #waiting = new Map<string, ProcessReport>();
  #waitingBytes = 0;
  #storing = false;
  #stopped = Promise.resolve();

  constructor(needs: IntakeNeeds) {
    this.#needs = needs;
  }

  /** Takes reports in; false when more wait than may. */
  take(reports: Report[]): boolean {
    const now = this.#needs.now();
    for (const report of reports) this.#wait(placedReport(report, now));
    this.#start();
    return this.#waitingBytes <= maxWaitingBytes;
  }

  /** Stores what still waits, trying once: the session is over. */
  async finish(): Promise<void> {
    await this.#stopped;
    try {
      while (this.#waiting.size > 0 && this.#needs.current()) await this.#store(this.#batch());
    } catch (error) {
      this.#failed(error);
    }
  }

  #start(): void {
    if (this.#storing) return;
    this.#storing = true;
    this.#stopped = this.#storeAll();
  }

  async #storeAll(): Promise<void> {
    const { pauses, signal } = this.#needs;
    let wait = pauses.first;
    while (this.#waiting.size > 0 && this.#needs.current() && !signal.aborted) {
      const batch = this.#batch();
      try {
        await this.#store(batch);
        wait = pauses.first;
      } catch (error) {
        this.#failed(error);
        for (const report of batch) this.#wait(report);
        await pause(wait, signal);
        wait = Math.min(wait * 2, pauses.longest);
      }
    }
    // In the same step that finds nothing waiting: a report that comes after it starts anew.
    this.#storing = false;
  }

  async #store(batch: ProcessReport[]): Promise<void> {
    const { nodeId, epoch, write, send } = this.#needs;
    const { changed, unknown, unwanted, outdated, refused } = await write(
      batch.map((report) => ({ nodeId, epoch, report })),
    );
    if (outdated.length > 0) return this.#needs.onOutdated();
    // The order matters: what an acknowledgement frees on the node is readable here first.
    const stored = batch.filter((report) => !refused.includes(report.id));
    this.#needs.onStored(stored, changed);
    send({ type: "acknowledge", acks: stored.map(({ id, revision }) => ({ id, revision })) });
    if (unknown.length > 0) send({ type: "forget", ids: unknown });
    for (const id of unwanted) this.#needs.onUnwanted(id);
  }

  #wait(report: ProcessReport): void {
    const other = this.#waiting.get(report.id);
    const newest = other === undefined ? report : newestReport(other, report);
    this.#waiting.set(report.id, newest);
    this.#waitingBytes += weightOf(newest) - (other === undefined ? 0 : weightOf(other));
  }

  #batch(): ProcessReport[] {
    const batch: ProcessReport[] = [];
    let bytes = 0;
    for (const report of this.#waiting.values()) {
      if (batch.length >= maxBatch || bytes >= maxBatchBytes) break;
      batch.push(report);
      bytes += weightOf(report);
      this.#waiting.delete(report.id);
    }
    this.#waitingBytes -= bytes;
    return batch;
  }

  #failed(error: unknown): void {
    this.#needs.log.warn("reports.not_stored", {
      nodeId: this.#needs.nodeId,
      waiting: this.#waiting.size,
      error,
    });
  }
}
