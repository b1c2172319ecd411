import type { Role } from "#shared/api/token.ts";

/** Whom an identity provider knew when the session began. */
export type SessionUser = { name: string; role: Role };

/** A browser that is signed in. */
export type ConsoleSession = {
  id: string;
  /** SHA-256 (hex) of what its cookie holds. */
  hash: string;
  /** SHA-256 (hex) of the token that it acts for, or of who the user is. */
  tokenHash: string;
  /** Null where it acts for a token. */
  user: SessionUser | null;
  createdAt: Date;
  usedAt: Date;
  expiresAt: Date;
};

/** One that is signed out is gone; one that is over is found until it is pruned. */
export interface ConsoleSessions {
  create(session: Omit<ConsoleSession, "usedAt">): Promise<void>;
  /** By the digest of its secret. */
  withHash(hash: string): Promise<ConsoleSession | undefined>;
  find(id: string): Promise<ConsoleSession | undefined>;
  /** Remembers a use, unless one since `before` is remembered. */
  used(id: string, use: { now: Date; before: Date }): Promise<void>;
  /** Says whether there was one. */
  delete(id: string): Promise<boolean>;
  /** Forgets those that have expired by now and those that nobody used since. */
  prune(over: { now: Date; idleSince: Date }): Promise<number>;
}

export type SignInCode = { hash: string; tokenHash: string; expiresAt: Date };

/** What lets a browser in once. */
export interface SignInCodes {
  create(code: SignInCode): Promise<void>;
  /** Uses a code up and answers the digest of its token; undefined when there is none, or it has expired by now. */
  take(hash: string, now: Date): Promise<string | undefined>;
  /** Forgets those that have expired by now. */
  prune(now: Date): Promise<number>;
}
