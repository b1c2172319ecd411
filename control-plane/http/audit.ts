import type { Context } from "hono";
import { auditQuery, type AuditQuery, type AuditView } from "#shared/api/audit.ts";
import { invalid } from "#shared/errors.ts";
import { isId } from "#shared/ids.ts";
import { exportAudit } from "../actions/export-audit.ts";
import type { AuditEntry, AuditFilter, AuditPosition } from "../store/store.ts";
import { auditPage } from "./answers.ts";
import { byteStream } from "./byte-stream.ts";
import { onePage } from "./one-page.ts";
import { route, type AppEnv, type Call, type Route } from "./route.ts";

const view = ({ actorKind, actorId, actorName, objectKind, objectId, ...entry }: AuditEntry): AuditView => {
  const { id, at, address, operation, nodeId, nodeName, input, status, code, requestId } = entry;
  return {
    ...{
      id,
      at: at.toISOString(),
      actor: { kind: actorKind, id: actorId, name: actorName },
      address,
      operation,
    },
    object: { kind: objectKind, id: objectId },
    node: nodeId === null ? null : { id: nodeId, name: nodeName },
    ...{ input, status, code, requestId },
  };
};

export const auditRoute: Route = route({
  method: "get",
  path: "/v1/audit",
  operationId: "listAudit",
  summary: "Who did what, newest first; as NDJSON (format=ndjson or Accept) all of it in one stream",
  tag: "access",
  query: auditQuery,
  answers: { 200: { description: "One page; with NDJSON each line is an entry", schema: auditPage } },
  failures: ["invalid_request"],
  handle: (call) => (isExport(call) ? everything(call) : somePage(call)),
});

type AuditCall = Call<AuditQuery, undefined>;

const ndjson = "application/x-ndjson";
const accepts = (c: Context<AppEnv>): boolean => (c.req.header("accept") ?? "").includes(ndjson);
const isExport = ({ c, query }: AuditCall): boolean =>
  (query.format ?? (accepts(c) ? "ndjson" : "json")) === "ndjson";

const somePage = async ({ c, needs, query }: AuditCall): Promise<Response> => {
  const filter = filterOf(query);
  const { page, nextCursor } = await onePage(
    query.limit ?? 50,
    (limit) => needs.store.audit.list({ ...filter, limit }),
    cursorOf,
  );
  return c.json({ data: page.map(view), nextCursor });
};

const encoder = new TextEncoder();

const everything = (call: AuditCall): Response => {
  const { c, needs, query } = call;
  if (query.limit !== undefined)
    throw invalid([{ path: "limit", message: "goes with pages: an NDJSON answer holds all that matches" }]);
  const filter = filterOf(query);
  const { signal, end } = call.last();
  const pages = exportAudit(needs, filter, signal);
  return c.body(byteStream(linesOf(pages), end), 200, { "content-type": ndjson });
};

async function* linesOf(pages: AsyncIterable<AuditEntry[]>): AsyncGenerator<Uint8Array> {
  for await (const page of pages)
    yield encoder.encode(page.map((entry) => `${JSON.stringify(view(entry))}\n`).join(""));
}

const ranges: Record<string, [number, number]> = { ok: [0, 399], refused: [400, 499], failed: [500, 999] };

const filterOf = (query: AuditQuery): AuditFilter & { after?: AuditPosition | undefined } => {
  const { actor, operation, object, node, result, from, to, cursor } = query;
  const statuses = result === undefined ? undefined : ranges[result];
  return {
    ...{ actor, operation, node, objectId: object, statuses },
    code: statuses === undefined ? result : undefined,
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
    after: cursor === undefined ? undefined : positionOf(cursor),
  };
};

const cursorOf = ({ at, id }: AuditPosition): string => `${at.getTime()}.${id}`;

const positionOf = (cursor: string): AuditPosition => {
  const [, at = "", id = ""] = /^(\d{1,15})\.(\w+)$/.exec(cursor) ?? [];
  if (!isId("aud", id)) throw invalid([{ path: "cursor", message: "is not a cursor of this list" }]);
  return { at: new Date(Number(at)), id };
};
