import { newId } from "#shared/ids.ts";
import { newSecret, sha256Hex } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import type { SessionUser } from "../store/store.ts";
import { within } from "./principal-of-session.ts";

/** `secret` goes into the browser's cookie and is known only at this moment. */
export type SignedIn = { secret: string; principal: Principal };

/** Begins the session of a browser, for whom a token or (`user`) a provider knows. */
export const beginSession = async (
  needs: Needs,
  who: Omit<Principal, "session">,
  user: SessionUser | null = null,
): Promise<SignedIn> => {
  const { store, config, log } = needs;
  const [id, secret, createdAt] = [newId("sess"), newSecret("drvs"), needs.now()];
  const { tokenHash, tokenId, name, role } = who;
  const session = {
    ...{ id, hash: await sha256Hex(secret), tokenHash, user, createdAt },
    expiresAt: new Date(createdAt.getTime() + config.signIn.maxMs),
  };
  await store.consoleSessions.create(session);
  log.info("session.began", { sessionId: id, tokenId, name, role });
  return { secret, principal: within(session, who) };
};
