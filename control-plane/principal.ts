import type { Role, TokenScope } from "#shared/api/token.ts";

/** Who acts: the admin token of the settings, which has no row and no bounds (`root`), or a token that somebody made. */
export type Principal = {
  kind: "root" | "token";
  /** Null of root. */
  tokenId: string | null;
  name: string;
  role: Role;
  scope: TokenScope;
  /** Null: never. */
  expiresAt: Date | null;
  /** SHA-256 (hex) of the token: what belongs to a token, such as an Idempotency-Key, is kept under it. */
  tokenHash: string;
  /** The browser's session through which the token acts; null: it came itself. */
  session: { id: string; expiresAt: Date } | null;
};
