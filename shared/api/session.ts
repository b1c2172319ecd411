import * as z from "zod";
import { timestamp } from "./common.ts";
import { roles, tokenScope } from "./token.ts";

const secret = z.string().min(1, "must not be empty").max(512, "must be at most 512 characters");

/** The body of `POST /v1/session`: one of the two. */
export const signInBody = z
  .strictObject({
    /** Of a sign-in link. */
    code: secret.optional(),
    token: secret.optional(),
  })
  .refine(({ code, token }) => (code === undefined) !== (token === undefined), {
    path: ["code"],
    message: "give either code, from a sign-in link, or token",
  });
export type SignInBody = z.infer<typeof signInBody>;

/** Of a browser's session: when it ends at the latest, and after which time without a request. */
export const sessionView = z.object({ expiresAt: timestamp, idleMs: z.int() });

/** Who acts. */
export const principalView = z.object({
  /** Null: the admin token of the settings. */
  tokenId: z.string().nullable(),
  name: z.string(),
  role: z.enum(roles),
  scope: tokenScope,
  expiresAt: timestamp.nullable(),
  /** Null where the token came itself. */
  session: sessionView.nullable(),
  /** The operations of the API description that its role and scope let it through to. */
  may: z.array(z.string()),
  version: z.string(),
});
export type PrincipalView = z.infer<typeof principalView>;

/** The answer of `POST /v1/session-codes`. */
export const signInLinkView = z.object({
  /** Good once. */
  code: z.string(),
  /** To be opened in a browser. */
  url: z.string(),
  expiresAt: timestamp,
});
export type SignInLinkView = z.infer<typeof signInLinkView>;
