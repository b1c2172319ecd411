import type { Context } from "hono";
import { within } from "#shared/within.ts";
import { readerIsStuck } from "./byte-stream.ts";
import type { AppEnv, Call } from "./route.ts";

/**
 * Server-sent events, in one file for all routes. Events are pulled: the next one is made only when the last one went to
 * the network, so a slow reader slows its source and buffers nothing. A ping goes out when nothing else did for a while;
 * it carries no id, so the client's resume point stays. A reader that takes nothing at all for too long is cut and can
 * resume. However the stream ends, `abort` and `return` end its source.
 */
export type SseEvent = { id: string; event: string; data: unknown };

const pingEveryMs = 15_000;
const stuckAfterMs = 30_000;
const encoder = new TextEncoder();
const ping = encoder.encode("event: ping\ndata: {}\n\n");

export type SseSource = { events: AsyncIterator<SseEvent, void>; signal: AbortSignal; abort(): void };
export type SseTimes = { pingEveryMs: number; stuckAfterMs: number };

/** Where a client wants to go on, and the field by which it said so; the header is what browsers send when they reconnect. */
export const resumePoint = (
  c: Context<AppEnv>,
  from: string | undefined,
): { text: string | undefined; field: "from" | "Last-Event-ID" } => {
  const header = c.req.header("last-event-id");
  return { text: header ?? from, field: header === undefined ? "from" : "Last-Event-ID" };
};

/** Answers with a stream of these events until they end or the call is over; then their signal aborts, too. */
export const sse = (
  { c, last }: Pick<Call<unknown, unknown>, "c" | "last">,
  eventsUntil: (signal: AbortSignal) => AsyncIterator<SseEvent, void>,
): Response => {
  const lasting = last();
  const leaving = new AbortController();
  const both = AbortSignal.any([lasting.signal, leaving.signal]);
  const abort = (): void => {
    leaving.abort();
    lasting.end();
  };
  const source = { events: eventsUntil(both), signal: both, abort };
  return c.body(eventStream(source), 200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
};

/** The bytes of the stream. */
export const eventStream = (
  source: SseSource,
  times: SseTimes = { pingEveryMs, stuckAfterMs },
): ReadableStream<Uint8Array> => {
  let pending: Promise<Step> | undefined;
  let stuck: ReturnType<typeof setTimeout> | undefined;
  const close = (): void => {
    clearTimeout(stuck);
    source.abort();
    // A source that waits ends by its signal. One that has just given an event stands still behind it, with all it holds (the
    // follow on a node): nobody asks for the next one any more, so it is told.
    source.events.return?.().catch(() => {});
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stuck);
        pending ??= nextStep(source);
        const step = await within(pending, times.pingEveryMs);
        if (step !== undefined) pending = undefined;
        if (step === "end" || source.signal.aborted) {
          close();
          return controller.close();
        }
        if (typeof step === "object" && "error" in step) {
          close();
          return controller.close();
        }
        controller.enqueue(step === undefined ? ping : encode(step));
        stuck = setTimeout(() => {
          close();
          controller.error(readerIsStuck());
        }, times.stuckAfterMs);
      },
      cancel: close,
    },
    // Nothing is made before it is wanted.
    { highWaterMark: 0 },
  );
};

type Step = SseEvent | "end" | { error: unknown };

// A source that fails ends the stream without `end`: the client resumes and meets the failure as an answer.
const nextStep = async (source: SseSource): Promise<Step> => {
  try {
    const next = await source.events.next();
    return next.done === true ? "end" : next.value;
  } catch (error) {
    return { error };
  }
};

const encode = ({ id, event, data }: SseEvent): Uint8Array =>
  encoder.encode(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
