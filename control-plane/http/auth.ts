import type { MiddlewareHandler } from "hono";
import { DroverError } from "#shared/errors.ts";
import { tokenHash } from "../actions/token-hash.ts";
import type { Needs } from "../needs.ts";
import type { AppEnv } from "./route.ts";

const bearer = /^Bearer +(\S+) *$/i;

/** Lets a request on when it brings the admin token; what is compared are digests, in constant time. */
export const authenticate =
  (needs: Needs): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    const token = bearer.exec(c.req.header("authorization") ?? "")?.[1];
    if (token === undefined)
      throw new DroverError("unauthorized", "send the header Authorization: Bearer <token>");
    const hash = await tokenHash(token);
    if (!sameText(hash, needs.config.adminTokenHash))
      throw new DroverError("unauthorized", "the token is not valid");
    c.set("principal", { name: "admin", role: "admin", tokenHash: hash });
    await next();
  };

const sameText = (one: string, other: string): boolean => {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
};
