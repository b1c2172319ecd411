import type { PrincipalView } from "#shared/api/session.ts";
import type { Config } from "../needs.ts";
import type { Principal } from "../principal.ts";
import { allowedTo } from "./permissions.ts";

export const viewOf = (principal: Principal, { version, signIn }: Config): PrincipalView => {
  const { tokenId, name, role, scope, expiresAt, session } = principal;
  return {
    ...{ tokenId, name, role, scope },
    expiresAt: expiresAt?.toISOString() ?? null,
    session: session && { expiresAt: session.expiresAt.toISOString(), idleMs: signIn.idleMs },
    may: allowedTo(principal),
    version,
  };
};
