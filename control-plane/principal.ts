import type { Role, TokenScope } from "#shared/api/token.ts";

/**
 * Who acts: the admin token of the settings, which has no row and no bounds (`root`), a token that somebody made, or a person that
 * the identity provider knew when their session began.
 */
export type Principal = {
  kind: "root" | "token" | "person";
  /** Null of root and of persons. */
  tokenId: string | null;
  name: string;
  role: Role;
  scope: TokenScope;
  /** Null: never. */
  expiresAt: Date | null;
  /** SHA-256 (hex) of the token, or of who a person is: what belongs to a token, such as an Idempotency-Key, is kept under it. */
  tokenHash: string;
  /** The browser's session through which the token acts; null: it came itself. */
  session: { id: string; expiresAt: Date } | null;
};
