/** A named secret as everybody may see it. */
export type SecretRow = { name: string; createdAt: Date; updatedAt: Date };

/** Named secrets; their values are sealed before they come here. */
export interface Secrets {
  /** Stores it, or replaces its value. */
  set(secret: { name: string; sealed: Uint8Array; now: Date }): Promise<{ row: SecretRow; created: boolean }>;
  /** By name, those behind `after`. */
  list(query: { limit: number; after?: string | undefined }): Promise<SecretRow[]>;
  /** The values of those that there are. */
  sealed(names: string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Whether there was one. */
  delete(name: string): Promise<boolean>;
}
