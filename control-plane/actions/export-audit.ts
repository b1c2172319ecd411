import type { Needs } from "../needs.ts";
import type { AuditEntry, AuditFilter, AuditPosition } from "../store/store.ts";

const pageSize = 500;

/** All entries that match, newest first, a page of the store at a time: the next is read when the last was taken. */
export async function* exportAudit(
  { store }: Pick<Needs, "store">,
  filter: AuditFilter & { after?: AuditPosition | undefined },
  signal: AbortSignal,
): AsyncGenerator<AuditEntry[]> {
  let after = filter.after;
  for (;;) {
    // Broken off, so that what is missing shows.
    signal.throwIfAborted();
    const page = await store.audit.list({ ...filter, after, limit: pageSize });
    if (page.length > 0) yield page;
    after = page.at(-1);
    if (page.length < pageSize) return;
  }
}
