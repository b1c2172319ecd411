/** A policy as it is stored: its shape is checked by whoever reads it. */
export type StoredPolicy = { policy: unknown; updatedAt: Date };

/** What may be started on the whole fleet. */
export interface Policies {
  /** The policy; undefined where nobody has given one. */
  fleet(): Promise<StoredPolicy | undefined>;
  /** The same as of at most a second ago, so that a start need not ask each time; what this store was given counts at once. */
  recentFleet(): Promise<StoredPolicy | undefined>;
  setFleet(given: StoredPolicy): Promise<void>;
}
