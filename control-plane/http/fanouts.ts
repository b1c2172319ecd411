import * as z from "zod";
import type { Context } from "hono";
import { pageQuery, waitMsQuery } from "#shared/api/common.ts";
import { fanoutBody } from "#shared/api/fanout.ts";
import { DroverError, invalid } from "#shared/errors.ts";
import { isId, newId } from "#shared/ids.ts";
import { createFanout } from "../actions/create-fanout.ts";
import { getFanout, waitFinalFanout } from "../actions/get-fanout.ts";
import { cancelFanout, pauseFanout, resumeFanout, retryFanout } from "../actions/steer-fanout.ts";
import type { Needs } from "../needs.ts";
import type { FanoutRow } from "../store/store.ts";
import { fanoutAnswer, fanoutNodePage, fanoutPage } from "./answers.ts";
import { fanoutNodeView, fanoutSummary, fanoutView } from "./fanout-view.ts";
import { once } from "./idempotency.ts";
import type { OperationId } from "./permissions.ts";
import { onePage } from "./one-page.ts";
import { route, type AppEnv, type Route } from "./route.ts";

/** The id in the path; what has not the shape of one is no fan-out and never reaches the database. */
export const fanoutId = (c: Context<AppEnv>): string => {
  const id = c.req.param("id") ?? "";
  if (!isId("fan", id)) throw new DroverError("not_found", "there is no such fan-out");
  return id;
};

const create: Route = route({
  method: "post",
  path: "/v1/fanouts",
  operationId: "createFanout",
  summary: "Run one command on every node that a selector matches",
  tag: "fanouts",
  body: fanoutBody,
  answers: { 201: { description: "Made; its nodes are listed under /nodes", schema: fanoutAnswer } },
  failures: [
    ...(["invalid_request", "command_refused", "not_supported", "idempotency_mismatch"] as const),
    ...(["payload_too_large", "unsupported_media_type"] as const),
  ],
  handle: async (call) => {
    const { c, needs, body } = call;
    const id = newId("fan");
    const createdBy = call.principal.tokenId;
    const made = await once(call, id, () => createFanout(needs, body, { id, createdBy }));
    const row = made.replayed ? await getFanout(needs, made.id) : made.made;
    return c.json(await fanoutView(needs, row), 201);
  },
});

const list: Route = route({
  method: "get",
  path: "/v1/fanouts",
  operationId: "listFanouts",
  summary: "List fan-outs, newest first",
  tag: "fanouts",
  query: z.strictObject(pageQuery),
  answers: { 200: { description: "One page, without what the nodes wrote", schema: fanoutPage } },
  failures: ["invalid_request"],
  handle: async ({ c, needs, query }) => {
    if (query.cursor !== undefined && !isId("fan", query.cursor)) throw badCursor();
    const { page, nextCursor } = await onePage(
      query.limit,
      (limit) => needs.store.fanouts.list({ limit, after: query.cursor }),
      ({ id }) => id,
    );
    return c.json({ data: page.map(fanoutSummary), nextCursor });
  },
});

const badCursor = (): DroverError => invalid([{ path: "cursor", message: "is not a cursor of this list" }]);

const get: Route = route({
  method: "get",
  path: "/v1/fanouts/:id",
  operationId: "getFanout",
  summary: "Get a fan-out with its outputs folded; with waitMs wait until it is final",
  tag: "fanouts",
  query: z.strictObject({ waitMs: waitMsQuery.optional() }),
  answers: { 200: { description: "The fan-out", schema: fanoutAnswer } },
  failures: ["invalid_request", "not_found"],
  staysOpen: ({ query }) => query.waitMs !== undefined,
  handle: async (call) => {
    const { c, needs, query } = call;
    const id = fanoutId(c);
    const row =
      query.waitMs === undefined
        ? await getFanout(needs, id)
        : await waitFinalFanout(needs, id, { waitMs: query.waitMs, signal: call.signal });
    return c.json(await fanoutView(needs, row));
  },
});

const nodes: Route = route({
  method: "get",
  path: "/v1/fanouts/:id/nodes",
  operationId: "listFanoutNodes",
  summary: "List the nodes of a fan-out, in the order of their starts",
  tag: "fanouts",
  query: z.strictObject(pageQuery),
  answers: { 200: { description: "One page", schema: fanoutNodePage } },
  failures: ["invalid_request", "not_found"],
  handle: async ({ c, needs, query }) => {
    const { id } = await getFanout(needs, fanoutId(c));
    if (query.cursor !== undefined && !/^\d{1,6}$/.test(query.cursor)) throw badCursor();
    const after = query.cursor === undefined ? undefined : Number(query.cursor);
    const { page, nextCursor } = await onePage(
      query.limit,
      (limit) => needs.store.fanouts.nodes(id, { limit, after }),
      ({ position }) => String(position),
    );
    return c.json({ data: page.map(fanoutNodeView), nextCursor });
  },
});

type Steering = {
  verb: string;
  operationId: OperationId;
  summary: string;
  act: (needs: Needs, id: string) => Promise<FanoutRow>;
};

const steering = ({ verb, operationId, summary, act }: Steering): Route =>
  route({
    method: "post",
    path: `/v1/fanouts/:id/${verb}`,
    operationId,
    summary,
    tag: "fanouts",
    answers: { 200: { description: "The fan-out", schema: fanoutAnswer } },
    failures: ["not_found", "conflict"],
    handle: async ({ c, needs }) => c.json(await fanoutView(needs, await act(needs, fanoutId(c)))),
  });

export const fanoutRoutes: Route[] = [
  create,
  list,
  get,
  nodes,
  steering({
    verb: "pause",
    operationId: "pauseFanout",
    summary: "Start nothing more until it is resumed; what runs goes on",
    act: pauseFanout,
  }),
  steering({
    verb: "resume",
    operationId: "resumeFanout",
    summary: "Go on, and accept the failures so far",
    act: resumeFanout,
  }),
  steering({
    verb: "cancel",
    operationId: "cancelFanout",
    summary: "Start nothing more and stop what runs; canceled once that has ended",
    act: cancelFanout,
  }),
  steering({
    verb: "retry-failed",
    operationId: "retryFanout",
    summary:
      "Run it again on every node that ended without success (failed, timed out, lost, skipped, canceled)",
    act: retryFanout,
  }),
];
