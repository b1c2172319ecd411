import { RE2JS } from "re2js";
import type { StreamName } from "#shared/streams.ts";
import { invalid } from "#shared/errors.ts";
import { grepReply, type GrepReply } from "#shared/link/frames.ts";
import { decodeText } from "#shared/output/utf8.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { askTimeoutMs, nodeOffline, valueOf } from "./ask-node.ts";
import { stored } from "./read-bytes.ts";
import { holdsAll, readStored } from "./stored-output.ts";

export type Search = { pattern: string; regex: boolean; context: number; from: number; limit: number };

/** Lines of a stream that hold a pattern. The node searches; without it only an output that the store holds whole can be searched. */
export const grepOutput = async (
  needs: Needs,
  of: { row: ProcessRow; stream: StreamName },
  search: Search,
  signal: AbortSignal,
): Promise<GrepReply> => {
  const { row, stream } = of;
  if (row.status === "queued") return { matches: [], next: 0, totalBytes: 0 };
  const frame = { type: "grep" as const, id: row.id, stream, ...search };
  const outcome = await needs.hub.request(row.nodeId, frame, { timeoutMs: askTimeoutMs, signal });
  const isAway = outcome.outcome === "offline" || outcome.outcome === "no_answer";
  const isForgotten = outcome.outcome === "refused" && outcome.code === "not_found";
  if (!isAway && !isForgotten) return valueOf(outcome, grepReply, "grep");
  const output = await stored(needs, row, stream);
  if (!holdsAll(output)) throw nodeOffline();
  const bytes = readStored(output, { head: output.totalBytes }).pieces[0]?.bytes ?? new Uint8Array(0);
  return grepBytes(bytes, search);
};

/** Lines of a few bytes that hold a pattern, with the offsets of each line. */
export const grepBytes = (bytes: Uint8Array, search: Search): GrepReply => {
  const holds = matcher(search);
  const lines = linesOf(bytes);
  const found = lines.flatMap((line, at) => (line.from >= search.from && holds(line.text) ? [at] : []));
  const shown = found.slice(0, search.limit);
  const more = found[search.limit];
  return {
    matches: shown.map((at) => matchAt(lines, at, search.context)),
    next: more === undefined ? bytes.length : (lines[more]?.from ?? bytes.length),
    totalBytes: bytes.length,
  };
};

type Line = { from: number; to: number; text: string };

const linesOf = (bytes: Uint8Array): Line[] => {
  const lines: Line[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(10, from);
    const to = end < 0 ? bytes.length : end;
    lines.push({ from, to, text: decodeText(bytes.subarray(from, to)) });
    from = to + 1;
  }
  return lines;
};

const matchAt = (lines: Line[], at: number, context: number): GrepReply["matches"][number] => {
  const line = lines[at] ?? { from: 0, to: 0, text: "" };
  const texts = (from: number, to: number): string[] =>
    lines.slice(Math.max(0, from), to).map(({ text }) => text);
  return { ...line, before: texts(at - context, at), after: texts(at + 1, at + 1 + context) };
};

const matcher = ({ pattern, regex }: Search): ((text: string) => boolean) => {
  if (!regex) return (text) => text.includes(pattern);
  const compiled = compile(pattern);
  return (text) => compiled.matcher(text).find();
};

const compile = (pattern: string): RE2JS => {
  try {
    return RE2JS.compile(pattern);
  } catch {
    // The library's message quotes the pattern and says little more than this.
    throw invalid([{ path: "grep", message: "is not a valid regular expression (RE2 syntax)" }]);
  }
};
