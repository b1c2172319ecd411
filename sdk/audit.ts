import type { AuditQuery } from "#shared/api/audit.ts";
import type { Client } from "./client.ts";
import type { Answer } from "./failure.ts";

export type AuditWanted = Omit<AuditQuery, "limit" | "cursor" | "format">;

/** All entries of the audit that match, newest first, as NDJSON in the body of the answer; one that breaks off is not whole. */
export const exportAudit = (client: Client, wanted: AuditWanted): Promise<Answer<Response>> =>
  client.open("/v1/audit", { query: { ...wanted, format: "ndjson" } });
