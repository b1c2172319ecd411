import type { Needs, SignInConfig } from "../needs.ts";
import type { Principal } from "../principal.ts";
import type { ConsoleSession, SessionUser } from "../store/store.ts";
import { principalOf } from "./principal-of.ts";

/** A use is remembered this coarsely, so that a request writes nothing. */
const usedEveryMs = 60_000;

/**
 * Who comes with a cookie of this digest: a person that an identity provider knew, or the token that its session belongs to, as it is now, so that a token that was revoked or
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
  const { user, tokenHash } = session;
  const principal = user === null ? await principalOf(needs, tokenHash) : personOf(user, tokenHash);
  if (principal === undefined) return undefined;
  const before = new Date(at.getTime() - usedEveryMs);
  if (session.usedAt < before) await consoleSessions.used(session.id, { now: at, before });
  return within(session, principal);
};

type Who = Omit<Principal, "session">;

const personOf = ({ name, role }: SessionUser, tokenHash: string): Who => ({
  ...{ kind: "person", tokenId: null, name, role, scope: {}, expiresAt: null, tokenHash },
});

/** Who acts by a session. A person that the provider knows is let in no longer than by it, and makes no token that lasts longer. */
export const within = ({ id, expiresAt }: Pick<ConsoleSession, "id" | "expiresAt">, who: Who): Principal => ({
  ...who,
  expiresAt: who.kind === "person" ? expiresAt : who.expiresAt,
  session: { id, expiresAt },
});

/** A stream that is open is no use of a session: one in a forgotten window would keep it for its whole time. */
export const sessionIsOver = (
  { usedAt, expiresAt }: Pick<ConsoleSession, "usedAt" | "expiresAt">,
  { idleMs }: SignInConfig,
  at: Date,
): boolean => expiresAt <= at || at.getTime() - usedAt.getTime() >= idleMs;
