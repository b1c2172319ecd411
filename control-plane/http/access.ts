import {
  enrollAnswer,
  enrollBody,
  joinTokenBody,
  joinTokenView,
  type JoinTokenBody,
} from "#shared/api/node.ts";
import { principalView } from "#shared/api/session.ts";
import { DroverError } from "#shared/errors.ts";
import { newId } from "#shared/ids.ts";
import { enrollNode } from "../actions/enroll-node.ts";
import { joinCommand, makeJoinToken } from "../actions/make-join-token.ts";
import { once } from "./idempotency.ts";
import { viewOf } from "./principal-view.ts";
import { route, type Call, type Route } from "./route.ts";

const joinToken: Route = route({
  method: "post",
  path: "/v1/join-tokens",
  operationId: "createJoinToken",
  summary: "Make a join token; it is shown once",
  tag: "access",
  body: joinTokenBody,
  bodyOptional: true,
  answers: { 201: { description: "The token and the one line that starts an agent", schema: joinTokenView } },
  failures: ["invalid_request", "idempotency_mismatch", "payload_too_large", "unsupported_media_type"],
  handle: async (call) => {
    const { c, needs, body } = call;
    const id = newId("tok");
    const made = await once(call, id, () => makeJoinToken(needs, body, id));
    if (made.replayed) return replayed(call, made.id);
    const { token, expiresAt } = made.made;
    return c.json(
      { token, command: joinCommand(needs, token, body.nodeName), expiresAt: expiresAt.toISOString() },
      201,
    );
  },
});

// The secret was shown to the first call only; nothing here still knows it.
const replayed = async ({ c, needs }: Call<undefined, JoinTokenBody>, id: string): Promise<Response> => {
  const token = await needs.store.joinTokens.find(id);
  if (token === undefined)
    throw new DroverError("not_found", "the join token of this Idempotency-Key is gone");
  return c.json(
    {
      secretShown: false,
      command: joinCommand(needs, undefined, token.nodeName),
      expiresAt: token.expiresAt.toISOString(),
    },
    201,
  );
};

const enroll: Route = route({
  method: "post",
  path: "/v1/enroll",
  operationId: "enrollNode",
  summary: "Make a node of a join token (called by the agent)",
  tag: "access",
  body: enrollBody,
  answers: {
    201: { description: "Enrolled", schema: enrollAnswer },
    200: { description: "The same token and key hash again: the same node", schema: enrollAnswer },
  },
  failures: [
    "invalid_request",
    "unauthorized",
    "forbidden",
    "conflict",
    "payload_too_large",
    "unsupported_media_type",
  ],
  handle: async ({ c, needs, body }) => {
    const { node, joinTokenId, repeated } = await enrollNode(needs, body);
    const actor = { actorKind: "join_token", actorId: joinTokenId, actorName: "join token" };
    c.get("trail").note({ objectId: node.id, node: { id: node.id }, actor });
    return c.json({ nodeId: node.id, name: node.name }, repeated ? 200 : 201);
  },
});

const me: Route = route({
  method: "get",
  path: "/v1/me",
  operationId: "whoAmI",
  summary: "Whose token this is, and what it may do",
  tag: "access",
  answers: { 200: { description: "The principal", schema: principalView.meta({ ref: "Principal" }) } },
  failures: [],
  handle: ({ c, needs, principal }) => c.json(viewOf(principal, needs.config)),
});

export const accessRoutes: Route[] = [joinToken, enroll, me];
