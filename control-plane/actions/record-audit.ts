import { DroverError } from "#shared/errors.ts";
import { within } from "#shared/within.ts";
import type { Needs } from "../needs.ts";
import type { AuditEntry } from "../store/store.ts";

/** An answer waits no longer than this for its entry. */
const withinMs = 5000;

const tooLate = (): DroverError => new DroverError("unavailable", "the database did not take it in time");

/** Writes an entry. One that cannot be written goes to the log as it is; nothing fails for it. */
export const recordAudit = async (
  { store, log }: Pick<Needs, "store" | "log">,
  entry: AuditEntry,
): Promise<void> => {
  try {
    const appended = store.audit.append(entry).then(() => true);
    if ((await within(appended, withinMs)) === undefined) throw tooLate();
  } catch (error) {
    // A database that is away is no fault of this program, however much an auditor has to know of it.
    const isAway = error instanceof DroverError && error.code === "unavailable";
    log[isAway ? "warn" : "error"]("audit.failed", { entry, error });
  }
};
