import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { DroverError } from "#shared/errors.ts";
import { isLoopback } from "./own-page.ts";

/** `sameSite`: Lax is for what has to come along when another site sends the browser here. */
type Cookie = { name: string; sameSite: "Strict" | "Lax" };

export const sessionCookie: Cookie = { name: "drover-session", sameSite: "Strict" };

// Under https the name begins with __Host-, which browsers take from this very host only and over https only: no neighbour
// in the domain can plant one. Plain http is for loopback alone, where nobody listens in between.
const optionsOf = (publicUrl: string, { sameSite }: Cookie) => {
  const isSecure = new URL(publicUrl).protocol === "https:";
  const options = { path: "/", httpOnly: true, sameSite, secure: isSecure };
  return isSecure ? { ...options, prefix: "host" as const } : options;
};

export const readCookie = (c: Context, publicUrl: string, cookie: Cookie): string | undefined => {
  // Most requests bring none: they are not to pay for one.
  if (c.req.header("cookie") === undefined) return undefined;
  const options = optionsOf(publicUrl, cookie);
  return "prefix" in options ? getCookie(c, cookie.name, options.prefix) : getCookie(c, cookie.name);
};

export const writeCookie = (
  c: Context,
  publicUrl: string,
  cookie: Cookie,
  { value, maxMs }: { value: string; maxMs: number },
): void =>
  setCookie(c, cookie.name, value, { ...optionsOf(publicUrl, cookie), maxAge: Math.floor(maxMs / 1000) });

export const removeCookie = (c: Context, publicUrl: string, cookie: Cookie): void =>
  void deleteCookie(c, cookie.name, optionsOf(publicUrl, cookie));

/** Over plain http a browser would drop the cookie without a word: say it instead. */
export const requireSafeAddress = (publicUrl: string): void => {
  const url = new URL(publicUrl);
  if (url.protocol !== "https:" && !isLoopback(url))
    throw new DroverError(
      "not_supported",
      `signing in takes https where Drover is not on loopback, and its public address is ${url.origin}: set DROVER_PUBLIC_URL to an https URL`,
    );
};
