export type AuditEntry = {
  id: string;
  at: Date;
  actorKind: string;
  actorId: string | null;
  actorName: string;
  address: string | null;
  operation: string;
  objectKind: string;
  objectId: string | null;
  nodeId: string | null;
  nodeName: string | null;
  input: Record<string, unknown>;
  status: number;
  code: string | null;
  requestId: string;
};

/** A place in the audit: behind this entry. */
export type AuditPosition = Pick<AuditEntry, "at" | "id">;

export type AuditFilter = {
  /** An id or a name. */
  actor?: string | undefined;
  operation?: string | undefined;
  objectId?: string | undefined;
  /** The id of a node, or the name that it has now. */
  node?: string | undefined;
  /** The least and the most status. */
  statuses?: [number, number] | undefined;
  code?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
};

/** Who did what. Entries are added and never change; only those past their retention go. */
export interface Audit {
  /**
   * Adds an entry; those of the same time together. A `nodeId` may be the name of a node, and for a process it may be left
   * out: the entry gets the id and the name of the node that it finds. For a node `objectId` is the same.
   */
  append(entry: AuditEntry): Promise<void>;
  /** Newest first, after the entry at `after`. */
  list(query: AuditFilter & { limit: number; after?: AuditPosition | undefined }): Promise<AuditEntry[]>;
  /** Forgets at most `limit` entries from before this time; says how many. */
  prune(before: Date, limit: number): Promise<number>;
}
