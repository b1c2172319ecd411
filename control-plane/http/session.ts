import * as z from "zod";
import { principalView, signInBody, signInLinkView } from "#shared/api/session.ts";
import { makeSignInLink } from "../actions/make-sign-in-link.ts";
import { signIn } from "../actions/sign-in.ts";
import { signOut } from "../actions/sign-out.ts";
import { removeCookie, requireSafeAddress, sessionCookie, writeCookie } from "./cookies.ts";
import { refuseOtherPages } from "./own-page.ts";
import { viewOf } from "./principal-view.ts";
import { route, type Route } from "./route.ts";
import { noteSignIn } from "./note-sign-in.ts";

const begin: Route = route({
  method: "post",
  path: "/v1/session",
  operationId: "signIn",
  summary: "Sign a browser in by the code of a sign-in link or by a token; the session is a cookie",
  tag: "access",
  body: signInBody,
  answers: { 201: { description: "Signed in", schema: principalView.meta({ ref: "Principal" }) } },
  failures: [
    "invalid_request",
    "unauthorized",
    "forbidden",
    "payload_too_large",
    "unsupported_media_type",
    "not_supported",
  ],
  handle: async ({ c, needs, body }) => {
    const { publicUrl, signIn: limits } = needs.config;
    refuseOtherPages(c.req.raw, publicUrl);
    // Before the code is used up.
    requireSafeAddress(publicUrl);
    const { secret, principal } = await signIn(needs, body);
    noteSignIn(c, principal);
    writeCookie(c, publicUrl, sessionCookie, { value: secret, maxMs: limits.maxMs });
    return c.json(viewOf(principal, needs.config), 201);
  },
});

const end: Route = route({
  method: "delete",
  path: "/v1/session",
  operationId: "signOut",
  summary: "Sign out: the session ends at once, and with it its streams and waits",
  tag: "access",
  answers: { 204: { description: "Signed out" } },
  failures: ["forbidden", "not_found"],
  handle: async ({ c, needs, principal }) => {
    await signOut(needs, principal);
    removeCookie(c, needs.config.publicUrl, sessionCookie);
    return c.body(null, 204);
  },
});

const link: Route = route({
  method: "post",
  path: "/v1/session-codes",
  operationId: "createSignInLink",
  summary: "Make a link that signs one browser in as this token, once, within 10 minutes",
  tag: "access",
  body: z.strictObject({}),
  bodyOptional: true,
  answers: { 201: { description: "The link", schema: signInLinkView } },
  failures: ["invalid_request", "forbidden", "payload_too_large", "unsupported_media_type", "not_supported"],
  handle: async ({ c, needs, principal }) => {
    requireSafeAddress(needs.config.publicUrl);
    const { code, url, expiresAt } = await makeSignInLink(needs, principal);
    return c.json({ code, url, expiresAt: expiresAt.toISOString() }, 201);
  },
});

export const sessionRoutes: Route[] = [begin, end, link];
