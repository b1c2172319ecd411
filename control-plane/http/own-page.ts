// A cookie comes along with whatever a browser sends here, whoever made it send that: another site, or a page of another server on
// this host (SameSite=Strict does not tell ports apart). So a cookie counts only where the browser says that the request is from our own page.
//
// - Browsers send Origin with every request that may change something, with every WebSocket, and with whatever a page of another
//   origin may read, such as an EventSource. Where it is there, it has to be ours; `null` (a sandbox, a file) is not.
// - Where it is missing, Sec-Fetch-Site says as much, which no page can set; browsers send it to https and to loopback, and
//   there are no sessions elsewhere. `none` is a person who typed the address.
// - Where both are missing, no browser of today made the request. A read may pass: what cannot name its origin cannot be read by
//   another one, since nothing here is shared (CORS). A change or an upgrade may not.
//
// A bearer token is not sent by a browser on its own: nothing of this concerns it.

import { DroverError } from "#shared/errors.ts";

type Provenance = "own" | "foreign" | "unknown";

/** Where a request comes from, by what only the browser can say. */
export const provenanceOf = ({ headers }: Pick<Request, "headers">, publicUrl: string): Provenance => {
  const origin = headers.get("origin");
  if (origin !== null) return isOwnOrigin(origin, new URL(publicUrl)) ? "own" : "foreign";
  const site = headers.get("sec-fetch-site");
  if (site === "same-origin") return "own";
  return site === null || site === "none" ? "unknown" : "foreign";
};

/** Throws unless the cookie of this request counts. */
export const requireOwnPage = (request: Request, publicUrl: string): void => {
  const provenance = provenanceOf(request, publicUrl);
  if (provenance === "own" || (provenance === "unknown" && onlyReads(request))) return;
  throw foreign(publicUrl);
};

/** Throws if a page of another origin sends this: nobody is to be signed in there as somebody else. */
export const refuseOtherPages = (request: Request, publicUrl: string): void => {
  if (provenanceOf(request, publicUrl) === "foreign") throw foreign(publicUrl);
};

const foreign = (publicUrl: string): DroverError =>
  new DroverError(
    "forbidden",
    `a session's cookie counts only in requests of the console's own pages, those of ${new URL(publicUrl).origin} (Origin says so; DROVER_PUBLIC_URL sets it); a program sends Authorization: Bearer <token>`,
  );

const onlyReads = ({ method, headers }: Request): boolean =>
  (method === "GET" || method === "HEAD") && headers.get("upgrade") === null;

const loopback = /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/;

export const isLoopback = ({ hostname }: URL): boolean => loopback.test(hostname);

// On loopback the three names of one door are one place: cookies keep them apart, and the port is the same.
const isOwnOrigin = (origin: string, own: URL): boolean => {
  if (origin === own.origin) return true;
  if (!isLoopback(own) || !URL.canParse(origin)) return false;
  const from = new URL(origin);
  return isLoopback(from) && from.protocol === own.protocol && from.port === own.port;
};
