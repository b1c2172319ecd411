import { DroverError } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";

/** Which tokens a principal sees: all of them, or where it is bound itself those that it made. */
export const madeBy = ({ tokenId, scope }: Principal): string | undefined =>
  tokenId === null || Object.keys(scope).length === 0 ? undefined : tokenId;

/** Revokes a token: no request with it is let in from now on, and what waits or streams with it ends. Its own is among them. */
export const revokeToken = async (needs: Needs, principal: Principal, id: string): Promise<void> => {
  const token = await needs.store.tokens.find(id);
  const maker = madeBy(principal);
  const isSeen = maker === undefined || token?.createdBy === maker || id === principal.tokenId;
  if (token === undefined || !isSeen || !(await needs.store.tokens.delete(id)))
    throw new DroverError("not_found", "there is no such token");
  needs.bus.publish(`token:${id}`);
  needs.log.info("token.revoked", { tokenId: id, name: token.name, by: principal.name });
};
