import type { TokenBody, TokenScope } from "#shared/api/token.ts";
import { selectorHolds, type Selector } from "#shared/selector.ts";
import type { Principal } from "../principal.ts";
import { sightOf } from "./within-scope.ts";

/**
 * Why this principal may not make such a token: one makes only tokens that reach no further and last no longer than oneself.
 * Undefined when it may.
 */
export const beyondMaker = (
  { scope: own, expiresAt: ownEnd }: Principal,
  { scope, expiresAt }: TokenBody,
): string | undefined => {
  if (own.chatId !== undefined && scope.chatId !== own.chatId)
    return `scope.chatId must be that of your own token, ${own.chatId}`;
  if (own.tasks !== undefined && !isAmong(own.tasks, scope.tasks))
    return "scope.tasks must be among those of your own token";
  if (!selectorHolds(termsOf(own), termsOf(scope)))
    return `scope.selector must have every term of that of your own token, ${own.selector}`;
  if (ownEnd !== null && (expiresAt === undefined || Date.parse(expiresAt) > ownEnd.getTime()))
    return `expiresAt must not be later than that of your own token, ${ownEnd.toISOString()}`;
  return undefined;
};

const isAmong = (own: string[], wanted: string[] | undefined): boolean =>
  wanted !== undefined && wanted.every((task) => own.includes(task));

const termsOf = (scope: TokenScope): Selector => sightOf(scope)?.selector ?? [];
