import type { SignInBody } from "#shared/api/session.ts";
import { DroverError } from "#shared/errors.ts";
import { sha256Hex } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import { beginSession, type SignedIn } from "./begin-session.ts";
import { principalOf } from "./principal-of.ts";

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
