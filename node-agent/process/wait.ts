import { setTimeout as sleep } from "node:timers/promises";
import type { WaitReply } from "#shared/link/frames.ts";
import type { EngineAnswer } from "../engine.ts";
import type { Stream } from "./blocks.ts";
import { type Follow, Growth } from "./growth.ts";
import type { Pattern } from "./matcher.ts";
import { streamSize } from "./output.ts";
import { listeningPorts } from "./ports.ts";
import { find } from "./search.ts";

/**
 * Waits for what a process says or does: a line that matches, a port that one of its members listens on, output that stays
 * quiet. The first that holds answers; without one the answer is null, when the time runs out or the process has ended.
 *
 * Nothing is missed between looking and waiting: each condition asks for the next change before it looks, and after the end
 * of the process it looks once more. The pattern is searched in the file from its first byte on, then again from the start of
 * the last line at each growth, so a line that was written in parts, or a prompt without a newline, is found; what the
 * follower brings only says that there is more. Quiet is counted from the start of the wait, or the last growth after it.
 */
export type WaitRequest = Stream & {
  pattern?: Pattern | undefined;
  port?: number | undefined;
  anyPort?: boolean | undefined;
  quietMs?: number | undefined;
  waitMs: number;
};
export type WaitNeeds = {
  follow: Follow;
  /** The pids of the process's tree now. */
  membersOf(): number[];
  /** Aborts when the process has ended. */
  ended: AbortSignal;
  /** Aborts when the asker has gone. */
  signal: AbortSignal;
};

type Met = { value: WaitReply } | Extract<EngineAnswer, { error: unknown }>;
type Waiting = {
  request: WaitRequest;
  needs: WaitNeeds;
  growth: Growth;
  /** Time is up, the asker gone, or another condition met. */ over: AbortSignal;
  /** Ends a search in the middle. */ cut: AbortSignal;
};

const portLookMs = 150;
// How much longer than the wait a search that is under way may take.
const lastLookMs = 2000;
const maxTimerMs = 2 ** 31 - 1;

/** Answers a `wait` request (see `waitReply`). */
export const waitFor = async (request: WaitRequest, needs: WaitNeeds): Promise<EngineAnswer> => {
  const stops = [new AbortController(), new AbortController()] as const;
  const waitMs = Math.min(request.waitMs, maxTimerMs - lastLookMs);
  const timers = [
    setTimeout(() => stops[0].abort(), waitMs),
    setTimeout(() => stops[1].abort(), waitMs + lastLookMs),
  ];
  const [over, cut] = [
    AbortSignal.any([needs.signal, stops[0].signal]),
    AbortSignal.any([needs.signal, stops[1].signal]),
  ];
  const growth = new Growth(request, needs.follow, AbortSignal.any([over, needs.ended]));
  try {
    return (await firstOf(conditionsOf({ request, needs, growth, over, cut }))) ?? { value: { met: null } };
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (const stop of stops) stop.abort();
    growth.close();
  }
};

const conditionsOf = (waiting: Waiting): Promise<Met | null>[] => {
  const { pattern, port, anyPort, quietMs } = waiting.request;
  return [
    pattern ? patternMet(waiting, pattern) : null,
    port !== undefined || anyPort ? portMet(waiting, port) : null,
    quietMs === undefined ? null : quietMet(waiting, quietMs),
    untilOver(waiting),
  ].filter((one) => one !== null);
};

/** The first that is not null; null when all are. */
const firstOf = (conditions: Promise<Met | null>[]): Promise<Met | null> =>
  new Promise((resolve, reject) => {
    for (const condition of conditions) condition.then((met) => met && resolve(met), reject);
    Promise.all(conditions).then(() => resolve(null), reject);
  });

const untilOver = async ({ growth, over, needs }: Waiting): Promise<null> => {
  while (!over.aborted && !needs.ended.aborted) await growth.next();
  return null;
};

const patternMet = async (
  { request, needs, growth, over, cut }: Waiting,
  pattern: Pattern,
): Promise<Met | null> => {
  const { folder, stream } = request;
  for (let from = 0; ;) {
    const next = growth.next();
    const last = needs.ended.aborted;
    const found = await find({ folder, stream, from, limit: 1, context: 0 }, { pattern, signal: cut });
    if (cut.aborted) return null;
    if ("error" in found) return found;
    const [match] = found.matches;
    if (match)
      return { value: { met: "pattern", match: { from: match.from, to: match.to, text: match.text } } };
    if (over.aborted) return null;
    from = found.resumeFrom;
    // A search may end before the end of what is written: then there is more to look at right now.
    if (found.next < found.totalBytes) continue;
    if (last) return null;
    await next;
  }
};

const portMet = async ({ needs, over }: Waiting, port: number | undefined): Promise<Met | null> => {
  const stop = AbortSignal.any([over, needs.ended]);
  for (;;) {
    const last = stop.aborted;
    const [listening] = listeningPorts(needs.membersOf(), port);
    if (listening) return { value: { met: "port", port: listening.port } };
    if (last) return null;
    await pause(portLookMs, stop);
  }
};

const quietMet = async ({ request, needs, growth, over }: Waiting, quietMs: number): Promise<Met | null> => {
  const stop = AbortSignal.any([over, needs.ended]);
  let size = streamSize(request.folder, request.stream);
  for (;;) {
    await pause(growth.lastMs + quietMs - performance.now(), stop);
    if (stop.aborted) return null;
    // The follower may lag behind: what it has not brought yet is growth of now.
    const now = streamSize(request.folder, request.stream);
    if (now === size && performance.now() >= growth.lastMs + quietMs) return { value: { met: "quiet" } };
    if (now !== size) growth.seen();
    size = now;
  }
};

/** An abort only ends the pause. */
const pause = async (ms: number, stop: AbortSignal): Promise<void> => {
  await sleep(Math.min(Math.max(ms, 0), maxTimerMs), undefined, { signal: stop }).catch(() => undefined);
};
