import { parentPort } from "node:worker_threads";
import { compilePattern, type Matcher } from "./matcher.ts";
import { type Found, scan, type ScanLimits, type ScanRequest } from "./scan.ts";

/**
 * The thread in which expressions of users run, so that one that takes long stops nothing else. One task at a time:
 * a task comes as a message, its outcome goes back as one. What takes too long is ended from outside.
 */
export type SearchTask = { request: ScanRequest; expression: string; limits: ScanLimits };
export type SearchOutcome = { found: Found } | { wrong: string } | { gone: true };

/** A wait asks with the same expression at each growth. */
let last: { expression: string; matcher: Matcher } | undefined;

const matcherOf = (expression: string): Matcher | { wrong: string } => {
  if (last?.expression === expression) return last.matcher;
  const matcher = compilePattern({ text: expression, regex: true });
  if (typeof matcher === "function") last = { expression, matcher };
  return matcher;
};

const perform = async ({ request, expression, limits }: SearchTask): Promise<SearchOutcome> => {
  const matcher = matcherOf(expression);
  if (typeof matcher !== "function") return matcher;
  try {
    return { found: await scan(request, matcher, limits) };
  } catch (error) {
    // The folder was removed meanwhile: an expected end. Anything else ends the thread, which its owner sees.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { gone: true };
    throw error;
  }
};

parentPort?.on("message", async (task: SearchTask) => parentPort?.postMessage(await perform(task)));
