import type { TokenBody } from "#shared/api/token.ts";
import { DroverError, invalid } from "#shared/errors.ts";
import { newSecret, sha256Hex } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import type { TokenRow } from "../store/store.ts";
import { beyondMaker } from "./token-bounds.ts";

/** A token as its maker sees it; `token` is known only at this moment. */
export type MadeToken = { id: string; token: string; row: TokenRow };

/** Makes a token within the bounds of whoever makes it; only its digest is stored. */
export const makeToken = async (
  needs: Needs,
  maker: Principal,
  body: TokenBody,
  id: string,
): Promise<MadeToken> => {
  const beyond = beyondMaker(maker, body);
  if (beyond !== undefined) throw new DroverError("forbidden", beyond);
  const createdAt = needs.now();
  const expiresAt = body.expiresAt === undefined ? null : new Date(body.expiresAt);
  if (expiresAt !== null && expiresAt <= createdAt)
    throw invalid([{ path: "expiresAt", message: "must be in the future" }]);
  const token = newSecret("drvt");
  const { name, role, scope } = body;
  const created = { id, name, role, scope, createdBy: maker.tokenId, createdAt, expiresAt };
  await needs.store.tokens.create({ ...created, hash: await sha256Hex(token) });
  needs.log.info("token.created", { tokenId: id, name, role, scope, by: maker.name });
  return { id, token, row: { ...created, hash: "", lastUsedAt: null } };
};
