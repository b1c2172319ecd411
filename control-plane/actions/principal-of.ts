import { sameText } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import type { TokenRow } from "../store/store.ts";

/** A use is remembered this coarsely, so that a request writes nothing. */
const usedEveryMs = 300_000;

/**
 * Who comes with a token of this digest; undefined when there is no such token, or it has expired. The row is read for each
 * request, so a revocation counts from the moment it is stored, at every control plane. It is found by its digest: how long that takes
 * tells nothing of any other token.
 */
export const principalOf = async (
  { store, config, now }: Pick<Needs, "store" | "config" | "now">,
  tokenHash: string,
): Promise<Principal | undefined> => {
  if (sameText(tokenHash, config.adminTokenHash)) return { ...root, tokenHash };
  const token = await store.tokens.withHash(tokenHash);
  const at = now();
  if (token === undefined || hasExpired(token, at)) return undefined;
  const before = new Date(at.getTime() - usedEveryMs);
  if (token.lastUsedAt === null || token.lastUsedAt < before)
    await store.tokens.used(token.id, { now: at, before });
  const { id: tokenId, name, role, scope, expiresAt } = token;
  return { kind: "token", tokenId, name, role, scope, expiresAt, tokenHash, session: null };
};

const root = {
  kind: "root",
  tokenId: null,
  name: "admin",
  role: "admin",
  scope: {},
  expiresAt: null,
  session: null,
} as const;

export const hasExpired = ({ expiresAt }: Pick<TokenRow, "expiresAt">, at: Date): boolean =>
  expiresAt !== null && expiresAt <= at;
