import type { DownFrame } from "#shared/link/frames.ts";
import type { Report } from "#shared/link/report.ts";
import type { Log } from "../needs.ts";
import type { ProcessReport, Store } from "../store/store.ts";
import { newestReport, placedReport, weightOf } from "./placed-report.ts";
import { pause } from "./retry.ts";

/**
 * The way of one session's reports into the store. They are stored at once when nothing is being stored, else they gather
 * until that is done: a burst of endings costs few commits and a single one no waiting. A report is acknowledged after its
 * commit and never before; while the database is away reports wait here up to a cap, then the socket is given up and
 * the agent, which keeps what was not acknowledged, says it again.
 */
export type IntakeNeeds = {
  nodeId: string;
  takeReports: (nodeId: string, reports: ProcessReport[]) => ReturnType<Store["processes"]["takeReports"]>;
  log: Log;
  now: () => Date;
  send: (frame: DownFrame) => boolean;
  /** Whether the session still holds its node; one that does not writes nothing. */
  current: () => boolean;
  pauses: { first: number; longest: number };
  signal: AbortSignal;
  /** Called after each commit. */
  onStored: (reports: ProcessReport[], changed: string[]) => void;
};

type Stored = { reports: ProcessReport[]; changed: string[]; unknown: string[] };

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
    const stored = await this.#stored(batch);
    // The order matters: what an acknowledgement frees on the node is readable here first.
    this.#needs.onStored(stored.reports, stored.changed);
    this.#needs.send({
      type: "acknowledge",
      acks: stored.reports.map(({ id, revision }) => ({ id, revision })),
    });
    if (stored.unknown.length > 0) this.#needs.send({ type: "forget", ids: stored.unknown });
  }

  /** One statement for all; where the database refuses a value, one for each, so that a bad report stops no other. */
  async #stored(batch: ProcessReport[]): Promise<Stored> {
    const { nodeId, takeReports } = this.#needs;
    try {
      return { reports: batch, ...(await takeReports(nodeId, batch)) };
    } catch (error) {
      if (!isRefusedValue(error)) throw error;
      if (batch.length > 1) return this.#storedOneByOne(batch);
      this.#needs.log.error("report.refused", { nodeId, processId: batch[0]?.id, error });
      return { reports: [], changed: [], unknown: [] };
    }
  }

  async #storedOneByOne(batch: ProcessReport[]): Promise<Stored> {
    const all: Stored = { reports: [], changed: [], unknown: [] };
    for (const report of batch) {
      const one = await this.#stored([report]);
      all.reports.push(...one.reports);
      all.changed.push(...one.changed);
      all.unknown.push(...one.unknown);
    }
    return all;
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

/** SQLSTATE classes 22 and 23: the database works and will never take this value. */
function isRefusedValue(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if ("code" in at && typeof at.code === "string" && /^2[23][0-9A-Z]{3}$/.test(at.code)) return true;
  return false;
}
