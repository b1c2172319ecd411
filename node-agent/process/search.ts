import type { EngineAnswer } from "../engine.ts";
import { hasStream } from "./folder.ts";
import { compilePattern, type Pattern } from "./matcher.ts";
import { type Found, scan, type ScanLimits, type ScanRequest } from "./scan.ts";
import { SearchThread, type ThreadOutcome } from "./search-thread.ts";

/** Searches the output of a process: plain text right here, in small steps; an expression in a thread of its own. */
export type GrepRequest = ScanRequest & { pattern: string; regex: boolean };
export type Refused = Extract<EngineAnswer, { error: unknown }>;

// A search that is not done after this much answers what it has and where to go on.
const limits: ScanLimits = { maxBytes: 256 * 1024 * 1024, softMs: 4000 };

const sharedThread = new SearchThread();

/** Answers a `grep` request (see `grepReply`); an abort ends the work. */
export const grep = async (
  request: GrepRequest,
  signal: AbortSignal,
  thread = sharedThread,
): Promise<EngineAnswer> => {
  const found = await find(request, {
    pattern: { text: request.pattern, regex: request.regex },
    signal,
    thread,
  });
  if ("error" in found) return found;
  const { matches, next, totalBytes } = found;
  return { value: { matches, next, totalBytes } };
};

/** The lines that match, or why they cannot be had. */
export const find = async (
  { folder, stream, context, from, limit }: ScanRequest,
  {
    pattern,
    signal,
    thread = sharedThread,
  }: { pattern: Pattern; signal: AbortSignal; thread?: SearchThread },
): Promise<Found | Refused> => {
  const request = { folder, stream, context, from, limit };
  if (!hasStream(folder, stream)) return gone;
  if (pattern.regex) return answerOf(await thread.run({ request, expression: pattern.text, limits }, signal));
  const matcher = compilePattern(pattern);
  if (typeof matcher !== "function") return refused("invalid_request", matcher.wrong);
  try {
    return await scan(request, matcher, limits);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return gone;
    throw error;
  }
};

const answerOf = (outcome: ThreadOutcome): Found | Refused => {
  if ("found" in outcome) return outcome.found;
  if ("wrong" in outcome) return refused("invalid_request", outcome.wrong);
  if ("gone" in outcome) return gone;
  switch (outcome.failed) {
    case "too_slow":
      return refused("pattern_too_slow", "the expression takes too long on this output");
    case "too_large":
      return refused("pattern_too_slow", "the expression needs too much memory on this output");
    case "abandoned":
      return refused("unavailable", "the search was abandoned");
    case "broken":
      return refused("unavailable", `the search failed: ${outcome.detail}`);
  }
};

const refused = (code: Refused["error"]["code"], message: string): Refused => ({ error: { code, message } });
const gone = refused("not_found", "the node keeps no such output of this process");
