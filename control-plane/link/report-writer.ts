import type { Log } from "../needs.ts";
import type { SentReport, Store, TakenReports } from "../store/store.ts";
import { gathered } from "#shared/gathered.ts";
import { weightOf } from "./placed-report.ts";

/** The one way of all sessions' reports into the store; each caller is told of its own reports once they are committed. */
export type ReportWriterNeeds = { takeReports: Store["processes"]["takeReports"]; log: Log };
export type WriteReports = (reports: SentReport[]) => Promise<WrittenReports>;

/** What became of one caller's reports; `refused` are those whose values the database does not take: they will never be stored. */
export type WrittenReports = TakenReports & { refused: string[] };

const lanes = 3;
const maxReports = 500;
const maxBytes = 4 * 1024 * 1024;

export const reportWriter = (needs: ReportWriterNeeds): WriteReports =>
  gathered({
    lanes,
    weigh: (reports) =>
      reports.reduce((sum, { report }) => sum + 1 / maxReports + weightOf(report) / maxBytes, 0),
    async ask(all) {
      const written = await writtenOf(needs, all.flat());
      return all.map((reports) => shareOf(written, reports));
    },
  });

/** One statement for all; where the database refuses a value, halves, so that a bad report stops no other. */
async function writtenOf(needs: ReportWriterNeeds, reports: SentReport[]): Promise<WrittenReports> {
  try {
    return { ...(await needs.takeReports(reports)), refused: [] };
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    if (reports.length > 1) return writtenInHalves(needs, reports);
    const refused = reports.map(({ report }) => report.id);
    needs.log.error("report.refused", { processId: refused[0], error });
    return { changed: [], unknown: [], unwanted: [], outdated: [], refused };
  }
}

async function writtenInHalves(needs: ReportWriterNeeds, reports: SentReport[]): Promise<WrittenReports> {
  const middle = Math.ceil(reports.length / 2);
  const one = await writtenOf(needs, reports.slice(0, middle));
  const other = await writtenOf(needs, reports.slice(middle));
  return everyFate((fate) => [...one[fate], ...other[fate]]);
}

function shareOf(written: WrittenReports, reports: SentReport[]): WrittenReports {
  const own = new Set(reports.map(({ report }) => report.id));
  return everyFate((fate) => written[fate].filter((id) => own.has(id)));
}

const everyFate = (ids: (fate: keyof WrittenReports) => string[]): WrittenReports => ({
  changed: ids("changed"),
  unknown: ids("unknown"),
  unwanted: ids("unwanted"),
  outdated: ids("outdated"),
  refused: ids("refused"),
});

/** SQLSTATE classes 22 and 23: the database works and will never take this value. */
function isRefusedValue(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if ("code" in at && typeof at.code === "string" && /^2[23][0-9A-Z]{3}$/.test(at.code)) return true;
  return false;
}
