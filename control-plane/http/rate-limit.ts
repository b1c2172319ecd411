import type { Context, MiddlewareHandler } from "hono";
import { DroverError } from "#shared/errors.ts";
import { sha256Hex } from "#shared/secret-text.ts";
import type { Needs } from "../needs.ts";
import { addressOf } from "./address.ts";
import { addressKey } from "./address-key.ts";
import { readCookie, sessionCookie } from "./cookies.ts";
import { Buckets, type Rate, type Take } from "./buckets.ts";
import type { AppEnv } from "./route.ts";

/**
 * How often somebody may ask, in the memory of one instance (docs/limits.md has the figures): a bucket for each token; for each
 * address one for requests that need no token, and one for those that were refused for want of a good one. Where that one is empty
 * a token is not even looked at, unless it was good here before: guessing is slowed, and who shares the address is not.
 */
type NeedsOf = (c: Context<AppEnv>) => Needs;

const burstSeconds = 2;
const maxKnown = 10_000;

const perSecond = (rate: number): Rate => ({ perSecond: rate, burst: rate * burstSeconds });
const perMinute = (count: number): Rate => ({ perSecond: count / 60, burst: count });

/** After the token is known: so many requests each second, and twice as many at once. */
export const limitToken = (needsOf: NeedsOf): MiddlewareHandler<AppEnv> => {
  const buckets = new Buckets();
  return async (c, next) => {
    const { config, now } = needsOf(c);
    const rate = config.limits.requestsPerToken;
    if (rate > 0) pass(c, buckets.take(c.get("principal").tokenHash, perSecond(rate), now().getTime()), rate);
    await next();
  };
};

/** For routes without a token, but for those by which a machine looks whether this one lives. */
export const limitAddress = (needsOf: NeedsOf): MiddlewareHandler<AppEnv> => {
  const buckets = new Buckets();
  return async (c, next) => {
    const { config, now } = needsOf(c);
    const rate = config.limits.requestsPerAddress;
    if (rate > 0) pass(c, buckets.take(keyOf(c), perSecond(rate), now().getTime()), rate);
    await next();
  };
};

const pass = (c: Context<AppEnv>, take: Take, limit: number): void => {
  c.header("ratelimit-limit", String(limit));
  c.header("ratelimit-remaining", String(take.remaining));
  c.header("ratelimit-reset", String(take.resetS));
  if (!take.ok) throw tooMany(`at most ${limit} requests a second`, take);
};

/** Before any token is looked at. */
export const slowAttempts = (needsOf: NeedsOf): MiddlewareHandler<AppEnv> => {
  const failures = new Buckets();
  const known = new Set<string>();
  return async (c, next) => {
    const { config, now } = needsOf(c);
    const rate = perMinute(config.limits.failedPerMinute);
    if (rate.burst === 0) return next();
    const address = keyOf(c);
    const left = failures.look(address, rate, now().getTime());
    const { publicUrl } = config;
    if (!left.ok && !known.has(await credentialHash(c, publicUrl)))
      throw tooMany("too many requests from this address had no valid token", left);
    await next();
    if (c.error instanceof DroverError && c.error.code === "unauthorized") {
      failures.take(address, rate, now().getTime());
      if (known.size > 0) known.delete(await credentialHash(c, publicUrl));
    } else if (c.get("principal") !== undefined)
      remember(known, isBearer(c) ? c.get("principal").tokenHash : await credentialHash(c, publicUrl));
  };
};

const isBearer = (c: Context<AppEnv>): boolean => c.req.header("authorization") !== undefined;

/** Of the token, or of the cookie of a session where no token came along. */
const credentialHash = (c: Context<AppEnv>, publicUrl: string): Promise<string> =>
  sha256Hex(
    c.req
      .header("authorization")
      ?.replace(/^Bearer +/i, "")
      .trim() ??
      readCookie(c, publicUrl, sessionCookie) ??
      "",
  );

const remember = (known: Set<string>, hash: string): void => {
  if (known.has(hash)) return;
  if (known.size >= maxKnown) known.clear();
  known.add(hash);
};

const tooMany = (what: string, { waitS }: Take): DroverError =>
  new DroverError("rate_limited", `${what}; try again in ${waitS} s`, { retryAfterS: waitS });

const keyOf = (c: Context<AppEnv>): string => addressKey(addressOf(c) ?? "unknown");
