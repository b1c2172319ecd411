import type { z } from "zod";
import type { waitBody } from "#shared/api/process.ts";
import type { StreamName } from "#shared/streams.ts";
import { invalid, type Issue } from "#shared/errors.ts";
import { waitReply, type WaitReply } from "#shared/link/frames.ts";
import type { Needs, RequestOutcome } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { answerOf, nodeOffline, refusalError } from "./ask-node.ts";
import { streamsOf } from "./stored-output.ts";
import { ended, getProcess } from "./wait-final.ts";
import { Watch } from "./watch.ts";

/**
 * Waits for the first of several conditions. The exit is known here, by notices; pattern, port and quiet are seen by
 * the node. A node that goes away in between is asked again when it is back, with the time that is left.
 */
export type Wanted = z.output<typeof waitBody>;
export type Met = {
  met: WaitReply["met"] | "exit";
  match?: WaitReply["match"];
  port?: number | undefined;
  process: ProcessRow;
};

const againMs = 1000;
/** The node ends a wait at the exit too; its last word on the pattern counts, and comes soon. */
const lastWordMs = 2000;

/** Which condition held first, or null when the time ran out. */
export const waitForCondition = async (
  needs: Needs,
  id: string,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Met> => {
  requireArguments(wanted);
  const first = await getProcess(needs, id);
  if (seesNode(wanted) && !ended(first) && !(await needs.hub.online(first.nodeId))) throw nodeOffline();
  const watch = new Watch(needs.bus, [`process:${id}`, `node:${first.nodeId}`]);
  const given = new AbortController();
  try {
    const over = AbortSignal.any([signal, given.signal]);
    return await firstOf(needs, { id, wanted, watch, signal: over, end: performance.now() + wanted.waitMs });
  } finally {
    given.abort();
    watch.close();
  }
};

const requireArguments = (wanted: Wanted): void => {
  const needed = { pattern: wanted.pattern, port: wanted.port, quiet: wanted.quietMs };
  const fields = { pattern: "pattern", port: "port", quiet: "quietMs" } as const;
  const issues = wanted.for.flatMap((kind): Issue[] =>
    kind === "exit" || needed[kind] !== undefined
      ? []
      : [{ path: fields[kind], message: `is required to wait for ${kind}` }],
  );
  if (issues.length > 0) throw invalid(issues);
};

type Waiting = { id: string; wanted: Wanted; watch: Watch; signal: AbortSignal; end: number };
type Seen = { value: WaitReply | undefined };

const firstOf = async (needs: Needs, waiting: Waiting): Promise<Met> => {
  const { wanted, watch, signal } = waiting;
  let asked: Promise<Seen> | undefined;
  for (;;) {
    const process = await getProcess(needs, waiting.id);
    const leftMs = waiting.end - performance.now();
    if (asked === undefined && seesNode(wanted) && process.status !== "queued") {
      asked = askOnce(needs, process, waiting);
      // A refusal is taken where the answer is; if the wait is over before, nobody needs it.
      asked.catch(() => {});
    }
    if (ended(process)) return atExit(process, wanted, asked);
    if (leftMs <= 0 || signal.aborted) return { met: null, process };
    const next = watch.next(
      Math.min(leftMs, asked === undefined && seesNode(wanted) ? againMs : leftMs),
      signal,
    );
    const seen = await Promise.race(asked === undefined ? [next] : [next, asked]);
    if (typeof seen === "string") continue;
    if (seen.value !== undefined && seen.value.met !== null)
      return { ...seen.value, process: await getProcess(needs, waiting.id) };
    // No answer, or none held until the process ended: look again, and ask again if there is something to ask.
    await watch.next(Math.min(Math.max(waiting.end - performance.now(), 0), againMs), signal);
    asked = undefined;
  }
};

const seesNode = (wanted: Wanted): boolean => wanted.for.some((kind) => kind !== "exit");

const atExit = async (
  process: ProcessRow,
  wanted: Wanted,
  asked: Promise<Seen> | undefined,
): Promise<Met> => {
  const last = asked && (await Promise.race([asked, nothingAfter(lastWordMs)]));
  if (last?.value !== undefined && last.value.met !== null) return { ...last.value, process };
  return { met: wanted.for.includes("exit") ? "exit" : null, process };
};

const nothingAfter = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(resolve, ms, undefined));

const askOnce = async (
  needs: Needs,
  process: ProcessRow,
  { id, wanted, signal, end }: Waiting,
): Promise<Seen> => {
  const waitMs = Math.max(0, Math.ceil(end - performance.now()));
  const frame = {
    type: "wait" as const,
    id,
    waitMs,
    stream: streamsOf(process)[0] ?? ("merged" satisfies StreamName),
    ...conditionsOf(wanted),
  };
  return seenOf(await needs.hub.request(process.nodeId, frame, { timeoutMs: waitMs + 5000, signal }));
};

const conditionsOf = (wanted: Wanted) => ({
  ...(wanted.for.includes("pattern") ? { pattern: { text: wanted.pattern ?? "", regex: wanted.regex } } : {}),
  ...(wanted.for.includes("port") ? { port: wanted.port } : {}),
  ...(wanted.for.includes("quiet") ? { quietMs: wanted.quietMs } : {}),
});

const seenOf = (outcome: RequestOutcome): Seen => {
  if (outcome.outcome === "ok") return { value: answerOf(outcome.value, waitReply) };
  // The node may not have the process yet, or went away: both are asked again.
  if (outcome.outcome !== "refused" || outcome.code === "not_found") return { value: undefined };
  throw refusalError(outcome, "pattern");
};
