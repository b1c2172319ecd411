import * as z from "zod";
import { labels, pageQuery, waitMsQuery } from "#shared/api/common.ts";
import { leaseHeader } from "#shared/api/node.ts";
import { cancelBody, listProcessesQuery, startProcessBody } from "#shared/api/process.ts";
import { invalid } from "#shared/errors.ts";
import { isId, newId } from "#shared/ids.ts";
import { processStatuses, type ProcessStatus } from "#shared/process-state.ts";
import { resultOf } from "../actions/exec-result.ts";
import { findNode } from "../actions/find-node.ts";
import { routeNotSupported } from "../actions/not-supported.ts";
import { startProcess } from "../actions/start-process.ts";
import { deleteProcess } from "../actions/steer-process.ts";
import { cancelKey } from "../actions/stop-process.ts";
import { ended, getProcess, waitFinal, waitUntil } from "../actions/wait-final.ts";
import { Watch } from "../actions/watch.ts";
import { requireWithin } from "../actions/within-scope.ts";
import type { ProcessRow } from "../store/store.ts";
import { processAnswer, processPage, processWithResultAnswer } from "./answers.ts";
import { once } from "./idempotency.ts";
import { processId } from "./process-id.ts";
import { processView, processViews } from "./process-view.ts";
import { onePage } from "./one-page.ts";
import { route, type Call, type Route } from "./route.ts";
import { effected } from "./trail.ts";

const waitQuery = z.strictObject({ waitMs: waitMsQuery.optional() });

const start: Route = route({
  method: "post",
  path: "/v1/processes",
  operationId: "startProcess",
  summary: "Start a process; with waitMs answer when it ended, with its output",
  tag: "processes",
  query: waitQuery,
  body: startProcessBody,
  answers: {
    201: { description: "Started", schema: processWithResultAnswer },
    200: {
      description: "The key was seen: the existing process (`attached`)",
      schema: processWithResultAnswer,
    },
  },
  failures: [
    "invalid_request",
    "command_refused",
    "not_supported",
    "secret_not_found",
    "secret_unreadable",
    "not_found",
    "node_offline",
    "node_draining",
    "node_leased",
    "queue_full",
    "idempotency_mismatch",
    "start_canceled",
    "payload_too_large",
    "unsupported_media_type",
  ],
  staysOpen: ({ query }) => query.waitMs !== undefined,
  handle: (call) => startAndWait(call),
});

type StartCall = Call<z.output<typeof waitQuery>, z.output<typeof startProcessBody>>;

// Watched before the row exists, so that no look is needed between the start and the first notice.
const startAndWait = async (call: StartCall): Promise<Response> => {
  const { c, needs, query, body } = call;
  const id = newId("proc");
  const watch = query.waitMs === undefined ? undefined : new Watch(needs.bus, [`process:${id}`]);
  try {
    const started = await once(call, id, async () => {
      const made = await startProcess(needs, body, id, { leaseId: c.req.header(leaseHeader) });
      return { id: made.process.id, ...made };
    });
    const attached = !started.replayed && started.made.attached;
    const row = started.replayed ? await getProcess(needs, started.id) : started.made.process;
    const status = attached ? 200 : 201;
    if (query.waitMs === undefined)
      return c.json({ ...(await processView(needs, row)), ...(attached ? { attached } : {}) }, status);
    effected(c.get("trail"), status, row.id);
    const limit = { waitMs: query.waitMs, signal: call.signal };
    const seen =
      watch !== undefined && row.id === id
        ? await waitUntil(needs, { row, watch }, { ...limit, done: ended })
        : await waitFinal(needs, row.id, limit);
    return c.json(
      {
        ...(await processView(needs, seen)),
        ...(attached ? { attached } : {}),
        result: await resultOf(needs, seen),
      },
      status,
    );
  } finally {
    watch?.close();
  }
};

const list: Route = route({
  method: "get",
  path: "/v1/processes",
  operationId: "listProcesses",
  summary: "List processes, newest first",
  tag: "processes",
  query: z.strictObject({
    ...listProcessesQuery,
    ...pageQuery,
    label: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .describe("k=v; repeatable, all must match"),
  }),
  answers: { 200: { description: "One page", schema: processPage } },
  failures: ["invalid_request", "not_found"],
  handle: async ({ c, needs, query }) => {
    const filter = { statuses: statusesOf(query.status), labels: labelsOf(query.label) };
    if (query.cursor !== undefined && !isId("proc", query.cursor))
      throw invalid([{ path: "cursor", message: "is not a cursor of this list" }]);
    const nodeId = query.node === undefined ? undefined : (await findNode(needs, query.node)).id;
    const bounds = { nodeId, chatId: query.chat, fanoutId: query.fanout, ...filter, after: query.cursor };
    const { page, nextCursor } = await onePage(
      query.limit,
      (limit) => needs.store.processes.list({ ...bounds, limit }),
      ({ id }) => id,
    );
    return c.json({ data: await processViews(needs, page), nextCursor });
  },
});

const statusesOf = (text: string | undefined): ProcessStatus[] | undefined => {
  if (text === undefined) return undefined;
  const wanted = text.split(",").map((status) => status.trim());
  const known = processStatuses.filter((status) => wanted.includes(status));
  if (known.length !== new Set(wanted).size)
    throw invalid([{ path: "status", message: `must be a comma list of ${processStatuses.join(", ")}` }]);
  return known;
};

const labelsOf = (terms: string | string[] | undefined): Record<string, string> | undefined => {
  if (terms === undefined) return undefined;
  const pairs = [terms]
    .flat()
    .map(
      (term) => [term.slice(0, Math.max(0, term.indexOf("="))), term.slice(term.indexOf("=") + 1)] as const,
    );
  const parsed = labels.safeParse(Object.fromEntries(pairs));
  if (!parsed.success) throw invalid([{ path: "label", message: "must be name=value" }]);
  if (pairs.some(([name, value]) => parsed.data[name] !== value))
    throw invalid([{ path: "label", message: "must not ask for two values of one name" }]);
  return parsed.data;
};

const get: Route = route({
  method: "get",
  path: "/v1/processes/:id",
  operationId: "getProcess",
  summary: "Get a process; with waitMs wait until it is final",
  tag: "processes",
  query: waitQuery,
  answers: { 200: { description: "The process", schema: processAnswer } },
  failures: ["invalid_request", "not_found"],
  staysOpen: ({ query }) => query.waitMs !== undefined,
  handle: async (call) => {
    const { c, needs, query } = call;
    const id = processId(c);
    const row =
      query.waitMs === undefined
        ? await getProcess(needs, id)
        : await waitFinal(needs, id, { waitMs: query.waitMs, signal: call.signal });
    return c.json(await processView(needs, row));
  },
});

const remove: Route = route({
  method: "delete",
  path: "/v1/processes/:id",
  operationId: "deleteProcess",
  summary: "Delete an ended process and its output",
  tag: "processes",
  answers: { 204: { description: "Deleted" } },
  failures: ["not_found", "conflict"],
  handle: async ({ c, needs }) => {
    const { nodeId } = await deleteProcess(needs, processId(c));
    c.get("trail").note({ node: { id: nodeId } });
    return c.body(null, 204);
  },
});

const cancel: Route = route({
  method: "post",
  path: "/v1/processes/cancel",
  operationId: "cancelProcess",
  summary: "Stop the process of a key, or fence a key that was never seen",
  tag: "processes",
  body: cancelBody,
  answers: {
    200: {
      description: "`fenced`, or the process of the key",
      schema: z.object({ fenced: z.boolean(), process: processAnswer.nullable() }),
    },
  },
  failures: ["invalid_request", "not_found", "not_supported", "payload_too_large", "unsupported_media_type"],
  handle: async ({ c, needs, body, signal }) => {
    await requireWithin(needs, body);
    if (body.node === undefined) return routeNotSupported("chatId");
    const trail = c.get("trail");
    const asked = ({ id }: ProcessRow): void => effected(trail, 200, id);
    const row = await cancelKey(needs, { node: body.node, key: body.key, signal, asked });
    if (row !== null) trail.note({ objectId: row.id });
    return c.json({ fenced: row === null, process: row === null ? null : await processView(needs, row) });
  },
});

export const processRoutes: Route[] = [start, list, cancel, get, remove];
