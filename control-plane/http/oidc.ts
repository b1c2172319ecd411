import { beginByProvider, pendingMs, signInByProvider } from "../actions/sign-in-by-provider.ts";
import { readCookie, removeCookie, requireSafeAddress, sessionCookie, writeCookie } from "./cookies.ts";
import { route, type Route } from "./route.ts";
import { noteSignIn } from "./note-sign-in.ts";

const callbackPath = "/v1/session/oidc/callback";

// The browser comes back from the provider's page, with which a Strict cookie is not sent.
const pendingCookie = { name: "drover-oidc", sameSite: "Lax" } as const;

const begin: Route = route({
  method: "get",
  path: "/v1/session/oidc",
  operationId: "signInByProvider",
  summary: "Send a browser to the identity provider to sign in",
  tag: "access",
  answers: { 302: { description: "To the provider" } },
  failures: ["not_supported"],
  handle: async ({ c, needs }) => {
    const { publicUrl } = needs.config;
    requireSafeAddress(publicUrl);
    const { url, sealed } = await beginByProvider(needs, `${publicUrl}${callbackPath}`);
    writeCookie(c, publicUrl, pendingCookie, { value: sealed, maxMs: pendingMs });
    return c.redirect(url, 302);
  },
});

const finish: Route = route({
  method: "get",
  path: callbackPath,
  operationId: "returnFromProvider",
  audited: true,
  summary: "Where the identity provider sends the browser back: begins a session and shows the console",
  tag: "access",
  answers: { 302: { description: "Signed in, to the console" } },
  failures: ["unauthorized", "forbidden", "not_supported"],
  handle: async ({ c, needs }) => {
    const { publicUrl, signIn } = needs.config;
    const sealed = readCookie(c, publicUrl, pendingCookie);
    // It is good once, whatever comes of it.
    removeCookie(c, publicUrl, pendingCookie);
    const redirectUri = `${publicUrl}${callbackPath}`;
    const callback = new URL(`${redirectUri}${new URL(c.req.url).search}`);
    const { secret, principal } = await signInByProvider(needs, { callback, sealed, redirectUri });
    noteSignIn(c, principal);
    writeCookie(c, publicUrl, sessionCookie, { value: secret, maxMs: signIn.maxMs });
    return c.redirect(`${publicUrl}/`, 302);
  },
});

export const oidcRoutes: Route[] = [begin, finish];
