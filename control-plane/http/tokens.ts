import * as z from "zod";
import { pageQuery } from "#shared/api/common.ts";
import { madeTokenView, tokenBody, type TokenView } from "#shared/api/token.ts";
import { DroverError, invalid } from "#shared/errors.ts";
import { isId, newId } from "#shared/ids.ts";
import { makeToken } from "../actions/make-token.ts";
import { madeBy, revokeToken } from "../actions/revoke-token.ts";
import type { Needs } from "../needs.ts";
import type { TokenRow } from "../store/store.ts";
import { tokenPage } from "./answers.ts";
import { once } from "./idempotency.ts";
import { onePage } from "./one-page.ts";
import { route, type Route } from "./route.ts";

const view = ({ hash: _hash, createdAt, expiresAt, lastUsedAt, ...row }: TokenRow): TokenView => ({
  ...row,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt?.toISOString() ?? null,
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
});

const create: Route = route({
  method: "post",
  path: "/v1/tokens",
  operationId: "createToken",
  summary: "Make a token, within the bounds of your own; it is shown once",
  tag: "access",
  body: tokenBody,
  answers: { 201: { description: "The token", schema: madeTokenView.meta({ ref: "MadeToken" }) } },
  failures: [
    "invalid_request",
    "forbidden",
    "idempotency_mismatch",
    "payload_too_large",
    "unsupported_media_type",
  ],
  handle: async (call) => {
    const { c, needs, body, principal } = call;
    const id = newId("tok");
    const made = await once(call, id, () => makeToken(needs, principal, body, id));
    if (made.replayed) return c.json({ ...(await shown(needs, made.id)), secretShown: false }, 201);
    const { token, row } = made.made;
    return c.json({ ...view(row), token }, 201);
  },
});

const shown = async (needs: Needs, id: string): Promise<TokenView> => {
  const row = await needs.store.tokens.find(id);
  if (row === undefined) throw new DroverError("not_found", "the token of this Idempotency-Key is gone");
  return view(row);
};

const list: Route = route({
  method: "get",
  path: "/v1/tokens",
  operationId: "listTokens",
  summary: "List tokens, newest first; with a token that has a scope those that it made",
  tag: "access",
  query: z.strictObject(pageQuery),
  answers: { 200: { description: "One page; the tokens themselves are not kept", schema: tokenPage } },
  failures: ["invalid_request"],
  handle: async ({ c, needs, query, principal }) => {
    if (query.cursor !== undefined && !isId("tok", query.cursor))
      throw invalid([{ path: "cursor", message: "is not a cursor of this list" }]);
    const bounds = { createdBy: madeBy(principal), after: query.cursor };
    const { page, nextCursor } = await onePage(
      query.limit,
      (limit) => needs.store.tokens.list({ ...bounds, limit }),
      ({ id }) => id,
    );
    return c.json({ data: page.map(view), nextCursor });
  },
});

const revoke: Route = route({
  method: "delete",
  path: "/v1/tokens/:id",
  operationId: "revokeToken",
  summary: "Revoke a token at once; streams and waits with it end",
  tag: "access",
  answers: { 204: { description: "Revoked" } },
  failures: ["not_found"],
  handle: async ({ c, needs, principal }) => {
    await revokeToken(needs, principal, c.req.param("id") ?? "");
    return c.body(null, 204);
  },
});

export const tokenRoutes: Route[] = [create, list, revoke];
