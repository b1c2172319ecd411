import type { Context, MiddlewareHandler } from "hono";
import { DroverError } from "#shared/errors.ts";
import { sameText, sha256Hex } from "#shared/secret-text.ts";
import { principalOf } from "../actions/principal-of.ts";
import type { Needs } from "../needs.ts";
import type { AppEnv } from "./route.ts";

const bearer = /^Bearer +(\S+) *$/i;

/**
 * Lets a request on when it brings a good token, and says whose it is. The token that was good last is remembered with its digest,
 * so that this (a trip to another thread) is not computed for every request; whether it still is good is asked each time.
 */
export const authenticate = (needsOf: (c: Context<AppEnv>) => Needs): MiddlewareHandler<AppEnv> => {
  let last: { token: string; hash: string } | undefined;
  return async (c, next) => {
    const token = bearer.exec(c.req.header("authorization") ?? "")?.[1];
    if (token === undefined)
      throw new DroverError("unauthorized", "send the header Authorization: Bearer <token>");
    const hash = last !== undefined && sameText(token, last.token) ? last.hash : await sha256Hex(token);
    const principal = await principalOf(needsOf(c), hash);
    if (principal === undefined)
      throw new DroverError("unauthorized", "the token is not valid, was revoked or has expired");
    last = { token, hash };
    c.set("principal", principal);
    await next();
  };
};
