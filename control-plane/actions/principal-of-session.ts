import type { Needs, SignInConfig } from "../needs.ts";
import type { Principal } from "../principal.ts";
import type { ConsoleSession } from "../store/store.ts";
import { principalOf } from "./principal-of.ts";

/** A use is remembered this coarsely, so that a request writes nothing. */
const usedEveryMs = 60_000;

/**
 * Who comes with a cookie of this digest: the token that its session belongs to, as it is now, so that a token that was revoked or
 * may do less since then takes its sessions along. Undefined when there is no such session, or it or its token is over.
 */
export const principalOfSession = async (
  needs: Pick<Needs, "store" | "config" | "now">,
  hash: string,
): Promise<Principal | undefined> => {
  const { consoleSessions } = needs.store;
  const session = await consoleSessions.withHash(hash);
  const at = needs.now();
  if (session === undefined || sessionIsOver(session, needs.config.signIn, at)) return undefined;
  const principal = await principalOf(needs, session.tokenHash);
  if (principal === undefined) return undefined;
  const before = new Date(at.getTime() - usedEveryMs);
  if (session.usedAt < before) await consoleSessions.used(session.id, { now: at, before });
  return { ...principal, session: { id: session.id, expiresAt: session.expiresAt } };
};

/** A stream that is open is no use of a session: one in a forgotten window would keep it for its whole time. */
export const sessionIsOver = (
  { usedAt, expiresAt }: Pick<ConsoleSession, "usedAt" | "expiresAt">,
  { idleMs }: SignInConfig,
  at: Date,
): boolean => expiresAt <= at || at.getTime() - usedAt.getTime() >= idleMs;
