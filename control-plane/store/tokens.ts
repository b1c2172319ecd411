import type { Role, TokenScope } from "#shared/api/token.ts";

export type TokenRow = {
  id: string;
  /** SHA-256 (hex) of the token. */
  hash: string;
  name: string;
  role: Role;
  scope: TokenScope;
  /** The token that made it; null: the admin token of the settings. */
  createdBy: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
};

/** Tokens of the API. A revoked one is gone; one that has expired is found and listed until it is pruned. */
export interface Tokens {
  create(token: Omit<TokenRow, "lastUsedAt">): Promise<void>;
  /** By the digest of its text. */
  withHash(hash: string): Promise<TokenRow | undefined>;
  find(id: string): Promise<TokenRow | undefined>;
  /** Newest first, after the id `after`; with `createdBy` those that this token made. */
  list(query: {
    createdBy?: string | undefined;
    limit: number;
    after?: string | undefined;
  }): Promise<TokenRow[]>;
  /** Remembers a use, unless one since `before` is remembered. */
  used(id: string, use: { now: Date; before: Date }): Promise<void>;
  /** Says whether there was one. */
  delete(id: string): Promise<boolean>;
  /** Forgets those that expired before this time. */
  prune(before: Date): Promise<number>;
}
