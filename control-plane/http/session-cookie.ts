import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { DroverError } from "#shared/errors.ts";
import { isLoopback } from "./own-page.ts";

export const sessionCookie = "drover-session";

// Under https the name begins with __Host-, which browsers take from this very host only and over https only: no neighbour
// in the domain can plant one. Plain http is for loopback alone, where nobody listens in between.
const kindOf = (publicUrl: string) => {
  const isSecure = new URL(publicUrl).protocol === "https:";
  return { isSecure, prefix: isSecure ? ("host" as const) : undefined };
};

/** What the cookie of a session holds. */
export const readSessionCookie = (c: Context, publicUrl: string): string | undefined => {
  // Most requests bring none: they are not to pay for one.
  if (c.req.header("cookie") === undefined) return undefined;
  const { prefix } = kindOf(publicUrl);
  return prefix === undefined ? getCookie(c, sessionCookie) : getCookie(c, sessionCookie, prefix);
};

export const writeSessionCookie = (c: Context, publicUrl: string, secret: string, maxMs: number): void =>
  setCookie(c, sessionCookie, secret, { ...optionsOf(publicUrl), maxAge: Math.floor(maxMs / 1000) });

export const removeSessionCookie = (c: Context, publicUrl: string): void =>
  void deleteCookie(c, sessionCookie, optionsOf(publicUrl));

const optionsOf = (publicUrl: string) => {
  const { isSecure, prefix } = kindOf(publicUrl);
  return {
    ...{ path: "/", httpOnly: true, sameSite: "Strict" as const, secure: isSecure },
    ...(prefix === undefined ? {} : { prefix }),
  };
};

/** Over plain http a browser would drop the cookie without a word: say it instead. */
export const requireSafeAddress = (publicUrl: string): void => {
  const url = new URL(publicUrl);
  if (url.protocol !== "https:" && !isLoopback(url))
    throw new DroverError(
      "not_supported",
      `signing in takes https where Drover is not on loopback, and its public address is ${url.origin}: set DROVER_PUBLIC_URL to an https URL`,
    );
};
