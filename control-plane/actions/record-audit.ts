import type { Needs } from "../needs.ts";
import type { AuditEntry } from "../store/store.ts";

/** An answer waits no longer than this for its entry. */
const withinMs = 5000;

/** Writes an entry. One that cannot be written goes to the log as it is; nothing fails for it. */
export const recordAudit = async (
  { store, log }: Pick<Needs, "store" | "log">,
  entry: AuditEntry,
): Promise<void> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("the database did not take it in time")), withinMs);
  try {
    await Promise.race([store.audit.append(entry), late.promise]);
  } catch (error) {
    log.error("audit.failed", { entry, error });
  } finally {
    clearTimeout(timer);
  }
};
