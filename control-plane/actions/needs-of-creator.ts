import type { Needs } from "../needs.ts";
import { hasExpired } from "./principal-of.ts";
import { needsWithin } from "./within-scope.ts";

/**
 * What is worked with on behalf of somebody who is not there any more: what a token made keeps to the scope of that token, as it
 * matches now. A token that is void starts nothing more.
 */
export const needsOfCreator = async (
  needs: Needs,
  createdBy: string | null,
): Promise<Needs | "creator_revoked"> => {
  if (createdBy === null) return needs;
  const token = await needs.store.tokens.find(createdBy);
  const isVoid = token === undefined || hasExpired(token, needs.now());
  return isVoid ? "creator_revoked" : needsWithin(needs, token.scope);
};
