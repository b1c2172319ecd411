import * as z from "zod";
import { page, pageQuery } from "#shared/api/common.ts";
import {
  resealBody,
  resealed,
  secretBody,
  secretName,
  secretView,
  type SecretView,
} from "#shared/api/secret.ts";
import { deleteSecret, listSecrets, setSecret } from "../actions/named-secrets.ts";
import { reseal } from "../actions/reseal.ts";
import type { SecretRow } from "../store/store.ts";
import { route, type Route } from "./route.ts";

const oversized = ["payload_too_large", "unsupported_media_type"] as const;
const answer = secretView.meta({ ref: "Secret" });

const view = ({ name, createdAt, updatedAt }: SecretRow): SecretView => ({
  name,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

const list: Route = route({
  method: "get",
  path: "/v1/secrets",
  operationId: "listSecrets",
  summary: "List named secrets by name, without their values",
  tag: "secrets",
  query: z.strictObject({ ...pageQuery, cursor: secretName.optional() }),
  answers: { 200: { description: "One page", schema: page(answer) } },
  failures: ["invalid_request"],
  handle: async ({ c, needs, query }) => {
    const { rows, more } = await listSecrets(needs, query);
    return c.json({ data: rows.map(view), nextCursor: more ? (rows.at(-1)?.name ?? null) : null });
  },
});

const set: Route = route({
  method: "post",
  path: "/v1/secrets",
  operationId: "setSecret",
  summary: "Store a secret, or replace its value; the value is never answered",
  tag: "secrets",
  body: secretBody,
  answers: {
    201: { description: "Stored", schema: answer },
    200: { description: "Its value was replaced", schema: answer },
  },
  failures: ["invalid_request", ...oversized],
  handle: async ({ c, needs, body }) => {
    const { row, created } = await setSecret(needs, body);
    return c.json(view(row), created ? 201 : 200);
  },
});

const remove: Route = route({
  method: "delete",
  path: "/v1/secrets/:name",
  operationId: "deleteSecret",
  summary: "Delete a secret; processes that were started with it keep its value",
  tag: "secrets",
  answers: { 204: { description: "Deleted" } },
  failures: ["not_found"],
  handle: async ({ c, needs }) => {
    await deleteSecret(needs, c.req.param("name") ?? "");
    return c.body(null, 204);
  },
});

const resealAll: Route = route({
  method: "post",
  path: "/v1/secret-key/reseal",
  operationId: "resealSecrets",
  summary: "Seal a batch of what is stored with the current secret key, so that an older one can go",
  tag: "secrets",
  body: resealBody,
  bodyOptional: true,
  answers: {
    200: { description: "What was done; go on from nextCursor", schema: resealed.meta({ ref: "Resealed" }) },
  },
  failures: ["invalid_request", ...oversized],
  handle: async ({ c, needs, body }) => c.json(await reseal(needs, body.cursor)),
});

export const secretRoutes: Route[] = [list, set, remove, resealAll];
