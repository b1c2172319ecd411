import type { Log } from "../needs.ts";
import type { SentReport, Store, TakenReports } from "../store/store.ts";
import { weightOf } from "./placed-report.ts";

/**
 * The one way of all sessions' reports into the store. A report that finds a free lane is stored at once; while all lanes are busy
 * those of all nodes gather, and go together in the next statement: a burst over a thousand nodes costs few commits and a
 * single ending no waiting. Each caller is told of its own reports once they are committed.
 */
export type ReportWriterNeeds = { takeReports: Store["processes"]["takeReports"]; log: Log };

/** What became of one caller's reports; `refused` are those whose values the database does not take: they will never be stored. */
export type WrittenReports = TakenReports & { refused: string[] };

type Waiting = { reports: SentReport[]; weight: number; done: PromiseWithResolvers<WrittenReports> };

const lanes = 3;
const maxBatch = 500;
const maxBatchBytes = 4 * 1024 * 1024;

export class ReportWriter {
  readonly #needs: ReportWriterNeeds;
  readonly #waiting: Waiting[] = [];
  #busy = 0;

  constructor(needs: ReportWriterNeeds) {
    this.#needs = needs;
  }

  /** Resolves after the commit; rejects when the database is away. */
  write(reports: SentReport[]): Promise<WrittenReports> {
    const weight = reports.reduce((sum, { report }) => sum + weightOf(report), 0);
    const waiting: Waiting = { reports, weight, done: Promise.withResolvers() };
    this.#waiting.push(waiting);
    if (this.#busy < lanes) void this.#work();
    return waiting.done.promise;
  }

  async #work(): Promise<void> {
    this.#busy += 1;
    for (let batch = this.#batch(); batch.length > 0; batch = this.#batch()) await this.#store(batch);
    this.#busy -= 1;
  }

  #batch(): Waiting[] {
    let reports = 0;
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      if (
        count > 0 &&
        (reports + waiting.reports.length > maxBatch || bytes + waiting.weight > maxBatchBytes)
      )
        break;
      count += 1;
      reports += waiting.reports.length;
      bytes += waiting.weight;
    }
    return this.#waiting.splice(0, count);
  }

  async #store(batch: Waiting[]): Promise<void> {
    try {
      const written = await this.#written(batch.flatMap(({ reports }) => reports));
      for (const { reports, done } of batch) done.resolve(shareOf(written, reports));
    } catch (error) {
      for (const { done } of batch) done.reject(error);
    }
  }

  /** One statement for all; where the database refuses a value, halves, so that a bad report stops no other. */
  async #written(reports: SentReport[]): Promise<WrittenReports> {
    try {
      return { ...(await this.#needs.takeReports(reports)), refused: [] };
    } catch (error) {
      if (!isRefusedValue(error)) throw error;
      if (reports.length > 1) return this.#writtenInHalves(reports);
      const [refused] = reports.map(({ report }) => report.id);
      this.#needs.log.error("report.refused", { processId: refused, error });
      return { changed: [], unknown: [], outdated: [], refused: reports.map(({ report }) => report.id) };
    }
  }

  async #writtenInHalves(reports: SentReport[]): Promise<WrittenReports> {
    const middle = Math.ceil(reports.length / 2);
    const one = await this.#written(reports.slice(0, middle));
    const other = await this.#written(reports.slice(middle));
    return {
      changed: [...one.changed, ...other.changed],
      unknown: [...one.unknown, ...other.unknown],
      outdated: [...one.outdated, ...other.outdated],
      refused: [...one.refused, ...other.refused],
    };
  }
}

function shareOf(written: WrittenReports, reports: SentReport[]): WrittenReports {
  const own = new Set(reports.map(({ report }) => report.id));
  const ofOwn = (ids: string[]): string[] => ids.filter((id) => own.has(id));
  return {
    changed: ofOwn(written.changed),
    unknown: ofOwn(written.unknown),
    outdated: ofOwn(written.outdated),
    refused: ofOwn(written.refused),
  };
}

/** SQLSTATE classes 22 and 23: the database works and will never take this value. */
function isRefusedValue(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if ("code" in at && typeof at.code === "string" && /^2[23][0-9A-Z]{3}$/.test(at.code)) return true;
  return false;
}
