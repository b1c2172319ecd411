import * as z from "zod";
import { grepAnswer, outputAnswer, outputQuery } from "#shared/api/process.ts";
import type { StreamName } from "#shared/streams.ts";
import { invalid, type Issue } from "#shared/errors.ts";
import { stripAnsi } from "#shared/output/ansi.ts";
import { grepOutput } from "../actions/grep-output.ts";
import { rawOutput } from "../actions/raw-output.ts";
import { readOutput, readRaw, type OutputView, type View } from "../actions/read-output.ts";
import { streamsOf } from "../actions/stored-output.ts";
import { getProcess } from "../actions/wait-final.ts";
import type { ProcessRow } from "../store/store.ts";
import { processId } from "./process-id.ts";
import { byteStream } from "./byte-stream.ts";
import { route, type Call, type Route } from "./route.ts";

// Here a missing view is told from one that was given: it decides what `from`, `to` and a raw answer mean.
const query = z.strictObject({ ...outputQuery.shape, view: outputQuery.shape.view.unwrap().optional() });
type Query = z.output<typeof query>;
type Of = { row: ProcessRow; stream: StreamName };

export const processOutput: Route = route({
  method: "get",
  path: "/v1/processes/:id/output",
  operationId: "readOutput",
  summary: "Read the output of a process: head and tail, a range, lines that match, or the bytes",
  tag: "processes",
  query,
  answers: {
    200: {
      description: "A view, or with `grep` its matches; with format=text or raw the body itself",
      schema: z.union([outputAnswer, grepAnswer]),
    },
  },
  failures: [
    "invalid_request",
    "not_found",
    "range_not_satisfiable",
    "pattern_too_slow",
    "node_offline",
    "unavailable",
  ],
  staysOpen: ({ query: { grep, format } }) => grep !== undefined || format === "raw",
  handle: async (call) => {
    const { c, needs, query } = call;
    requireCoherent(query);
    const row = await getProcess(needs, processId(c));
    const of = { row, stream: streamOf(row, query.stream) };
    if (query.grep !== undefined) return grep(call, of);
    const view = viewOf(query);
    if (query.format === "raw") return raw(call, of, isWhole(query) ? undefined : view);
    return answer(call, of, await readOutput(needs, of, view));
  },
});

const requireCoherent = (query: Query): void => {
  const issues: Issue[] = [];
  const ranged = query.view === undefined || query.view === "range";
  if (!ranged && query.from !== undefined) issues.push({ path: "from", message: "goes with view=range" });
  if (query.to !== undefined && (!ranged || query.grep !== undefined))
    issues.push({ path: "to", message: "goes with view=range" });
  if (query.to !== undefined && query.to < (query.from ?? 0))
    issues.push({ path: "to", message: "must not lie before from" });
  if (query.grep === "") issues.push({ path: "grep", message: "must not be empty" });
  if (query.grep !== undefined && query.format === "raw")
    issues.push({ path: "format", message: "must not be raw with grep" });
  if (issues.length > 0) throw invalid(issues);
};

const streamOf = (row: ProcessRow, asked: StreamName | undefined): StreamName => {
  const streams = streamsOf(row);
  const stream = asked ?? streams[0] ?? "merged";
  if (streams.includes(stream)) return stream;
  const message =
    stream === "merged"
      ? "this process was started with split output: read stdout or stderr"
      : "this process was started with merged output";
  throw invalid([{ path: "stream", message }]);
};

const isWhole = (query: Query): boolean =>
  query.view === undefined &&
  query.from === undefined &&
  query.to === undefined &&
  query.lines === undefined &&
  query.tailBytes === undefined;

const viewOf = (query: Query): View => {
  const view = query.view ?? (query.from === undefined && query.to === undefined ? "headtail" : "range");
  switch (view) {
    case "headtail":
      return { view, headBytes: query.headBytes, tailBytes: query.tailBytes ?? 16_384 };
    case "head":
      return { view, headBytes: query.headBytes };
    case "tail":
      return query.tailBytes === undefined
        ? { view: "lines", lines: query.lines }
        : { view, tailBytes: query.tailBytes };
    case "range":
      return { view, from: query.from ?? 0, to: query.to };
  }
};

type OutputCall = Call<Query, unknown>;

const answer = ({ c, query }: OutputCall, { row }: Of, shown: OutputView): Response => {
  const show = (text: string): string => (query.ansi === "strip" ? stripAnsi(text) : text);
  if (query.format === "text") {
    return c.body(show(shown.text), 200, {
      "content-type": "text/plain; charset=utf-8",
      "drover-next": String(shown.next),
      "drover-total-bytes": String(shown.totalBytes),
    });
  }
  const { parts, ...view } = shown;
  const several =
    parts.length > 1 ? { parts: parts.map((part) => ({ ...part, text: show(part.text) })) } : {};
  return c.json({ ...view, text: show(shown.text), ...several, status: row.status, exitCode: row.exitCode });
};

const grep = async ({ c, needs, query, signal }: OutputCall, of: Of): Promise<Response> => {
  const search = {
    pattern: query.grep ?? "",
    regex: query.regex,
    context: query.context,
    from: query.from ?? 0,
    limit: query.limit,
  };
  const found = await grepOutput(needs, of, search, signal);
  const show = (text: string): string => (query.ansi === "strip" ? stripAnsi(text) : text);
  if (query.format === "text")
    return c.body(found.matches.map((match) => `${show(match.text)}\n`).join(""), 200, {
      "content-type": "text/plain; charset=utf-8",
    });
  const matches = found.matches.map((match) => ({
    ...match,
    text: show(match.text),
    before: match.before.map(show),
    after: match.after.map(show),
  }));
  return c.json({ ...found, matches, status: of.row.status, exitCode: of.row.exitCode });
};

const raw = async (call: OutputCall, of: Of, view: View | undefined): Promise<Response> => {
  const { c, needs } = call;
  const { row } = of;
  const headers = {
    "content-type": "application/octet-stream",
    "drover-omitted-bytes": String(row.omittedBytes),
  };
  if (view === undefined) {
    const { signal, end } = call.last();
    return c.body(byteStream(await rawOutput(needs, of, signal), end), 200, headers);
  }
  const pieces = await readRaw(needs, of, view);
  return c.body(byteStream(pieces.map((piece) => piece.bytes)), 200, headers);
};
