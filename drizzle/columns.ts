import { customType } from "drizzle-orm/pg-core";

/**
 * Ids sort by creation only if compared byte by byte: whatever the collation of the database is,
 * these columns compare in C.
 */
export const idText = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

export const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });

/** Milliseconds are the unit of every time, so a time comes back as it was given. */
export const instant = customType<{ data: Date }>({ dataType: () => "timestamp (3) with time zone" });

/** The id of a transaction; as text on this side, since it has 64 bits. */
export const transactionId = customType<{ data: string }>({ dataType: () => "xid8" });
