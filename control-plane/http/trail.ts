import type { AuditEntry } from "../store/store.ts";

/** What a request turned out to be about. */
export type Found = {
  /** The parameters of its path. */
  path?: string[];
  /** Its body as it was sent, once it is known to have the right shape. */
  body?: unknown;
  /** What it made or was about; a parameter of the path goes before it. */
  objectId?: string;
  /** Of a node that is gone by now the name, too; else its id or name is enough. */
  node?: { id: string; name?: string };
  /** Who acted, where that is no token of the API. */
  actor?: Pick<AuditEntry, "actorKind" | "actorId" | "actorName">;
};

export type Result = { status: number; code: string | null };

/** The entry of a request while it is being made (audited.ts). */
export type Trail = {
  /** Adds what was found out about the request. */
  note(found: Found): void;
  /** Begins to write it; the first call counts. Never fails. */
  write(result: Result): Promise<void>;
};

/** Writes the entry of a request whose effect is there and whose answer only waits. */
export const effected = (trail: Trail, status: number, objectId: string): void => {
  trail.note({ objectId });
  void trail.write({ status, code: null });
};
