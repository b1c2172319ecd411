import type { Context, MiddlewareHandler } from "hono";
import { DroverError } from "#shared/errors.ts";
import { sameText, sha256Hex } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import type { AppEnv } from "./route.ts";

const bearer = /^Bearer +(\S+) *$/i;

/**
 * Lets a request on when it brings the admin token; what is compared are digests, in constant time. The token that was
 * good last is remembered, so that a digest (a trip to another thread) is not computed for every request.
 */
export const authenticate = (needsOf: (c: Context<AppEnv>) => Needs): MiddlewareHandler<AppEnv> => {
  let good: { token: string; hash: string } | undefined;
  return async (c, next) => {
    const token = bearer.exec(c.req.header("authorization") ?? "")?.[1];
    if (token === undefined)
      throw new DroverError("unauthorized", "send the header Authorization: Bearer <token>");
    const hash = good !== undefined && sameText(token, good.token) ? good.hash : await sha256Hex(token);
    if (!sameText(hash, needsOf(c).config.adminTokenHash))
      throw new DroverError("unauthorized", "the token is not valid");
    good = { token, hash };
    c.set("principal", { name: "admin", role: "admin", tokenHash: hash });
    await next();
  };
};
