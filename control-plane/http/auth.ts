import type { Context, MiddlewareHandler } from "hono";
import { DroverError } from "#shared/errors.ts";
import { sameText, sha256Hex } from "#shared/secret-text.ts";
import { principalOfSession } from "../actions/principal-of-session.ts";
import { principalOf } from "../actions/principal-of.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import { readCookie, sessionCookie } from "./cookies.ts";
import { requireOwnPage } from "./own-page.ts";
import type { AppEnv } from "./route.ts";

const bearer = /^Bearer +(\S+) *$/i;

/**
 * Lets a request on when it brings a good token, or the cookie of a session that is good and counts; and says whose it is. A token
 * goes before a cookie, also one that is not good: who sends both means the token.
 */
export const authenticate = (needsOf: (c: Context<AppEnv>) => Needs): MiddlewareHandler<AppEnv> => {
  const byToken = tokenCheck();
  return async (c, next) => {
    const needs = needsOf(c);
    const token = bearer.exec(c.req.header("authorization") ?? "")?.[1];
    c.set("principal", await (token === undefined ? byCookie(c, needs) : byToken(needs, token)));
    await next();
  };
};

/**
 * The token that was good last is remembered with its digest, so that this (a trip to another thread) is not computed for every
 * request; whether it still is good is asked each time.
 */
const tokenCheck = () => {
  let last: { token: string; hash: string } | undefined;
  return async (needs: Needs, token: string): Promise<Principal> => {
    const hash = last !== undefined && sameText(token, last.token) ? last.hash : await sha256Hex(token);
    const principal = await principalOf(needs, hash);
    if (principal === undefined)
      throw new DroverError("unauthorized", "the token is not valid, was revoked or has expired");
    last = { token, hash };
    return principal;
  };
};

// A cookie that is no longer good is left where it is: the answer might come behind that to a new sign-in, and take its cookie.
const byCookie = async (c: Context<AppEnv>, needs: Needs): Promise<Principal> => {
  const { publicUrl } = needs.config;
  const secret = readCookie(c, publicUrl, sessionCookie);
  if (secret === undefined)
    throw new DroverError("unauthorized", "send the header Authorization: Bearer <token>");
  requireOwnPage(c.req.raw, publicUrl);
  const principal = await principalOfSession(needs, await sha256Hex(secret));
  if (principal === undefined)
    throw new DroverError("unauthorized", "the session is over or was signed out: sign in again");
  return principal;
};
