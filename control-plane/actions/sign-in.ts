import type { SignInBody } from "#shared/api/session.ts";
import { DroverError } from "#shared/errors.ts";
import { newId } from "#shared/ids.ts";
import { newSecret, sha256Hex } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import { principalOf } from "./principal-of.ts";

/** `secret` goes into the browser's cookie and is known only at this moment. */
export type SignedIn = { secret: string; principal: Principal };

/** Begins a session for a token, or for the token that made a code; the code is used up, whether or not its token is still good. */
export const signIn = async (needs: Needs, { code, token }: SignInBody): Promise<SignedIn> => {
  const tokenHash = code === undefined ? await sha256Hex(token ?? "") : await tokenOfCode(needs, code);
  const principal = tokenHash === undefined ? undefined : await principalOf(needs, tokenHash);
  if (principal === undefined)
    throw new DroverError(
      "unauthorized",
      code === undefined
        ? "the token is not valid, was revoked or has expired"
        : "the sign-in link is not valid, was used, or is older than 10 minutes: make another with `drover login --link`",
    );
  return beginSession(needs, principal);
};

const tokenOfCode = async ({ store, now }: Needs, code: string): Promise<string | undefined> =>
  store.signInCodes.take(await sha256Hex(code), now());

const beginSession = async (needs: Needs, principal: Principal): Promise<SignedIn> => {
  const { store, config, log } = needs;
  const [id, secret, createdAt] = [newId("sess"), newSecret("drvs"), needs.now()];
  const expiresAt = new Date(createdAt.getTime() + config.signIn.maxMs);
  const { tokenHash, tokenId, name, role } = principal;
  await store.consoleSessions.create({ id, hash: await sha256Hex(secret), tokenHash, createdAt, expiresAt });
  log.info("session.began", { sessionId: id, tokenId, name, role });
  return { secret, principal: { ...principal, session: { id, expiresAt } } };
};
