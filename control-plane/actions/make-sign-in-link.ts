import { DroverError } from "#shared/errors.ts";
import { newSecret, sha256Hex } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";

const codeMs = 600_000;

export type SignInLink = { code: string; url: string; expiresAt: Date };

/** A link that signs one browser in as this token. The code is in the fragment, which a browser sends to nobody. */
export const makeSignInLink = async (needs: Needs, principal: Principal): Promise<SignInLink> => {
  // Else whoever holds a session for a moment could go on for ever.
  if (principal.session !== null)
    throw new DroverError("forbidden", "a session makes no sign-in links: ask with a token");
  const code = newSecret("drvc");
  const expiresAt = new Date(needs.now().getTime() + codeMs);
  const { tokenHash, tokenId, name } = principal;
  await needs.store.signInCodes.create({ hash: await sha256Hex(code), tokenHash, expiresAt });
  needs.log.info("sign_in_link.made", { tokenId, name });
  return { code, url: `${needs.config.publicUrl}/#code=${code}`, expiresAt };
};
