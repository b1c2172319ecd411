// Following a stream of server-sent events that survives its connection.
//
// Each event has an id, the point to resume from. When the connection breaks, is silent for longer than the server's
// pings allow, or ends without `end`, it is opened again after a growing pause with the last id, so nothing is lost
// or repeated. A failure that asking again cannot mend (not found, unauthorized) ends the stream at once, one that it
// may mend ends it after `giveUpMs` without a single event.

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { Client } from "./client.ts";
import { cut, failureOfThrown, type Failure } from "./failure.ts";

/** The server pings every 15 s; twice that and a half without a byte means the connection is dead. */
const silenceMs = 40_000;
const firstPauseMs = 250;
const longestPauseMs = 5_000;

/** What the way itself has to say, between the events. */
export type WayEvent =
  /** The connection is gone and will be opened again; said once per break. */
  | { type: "interrupted"; failure: Failure }
  /** The last item when the stream had to be given up. */
  | { type: "failed"; failure: Failure };

export type StreamOptions = { signal?: AbortSignal; giveUpMs?: number };

/** A stream: where it is, where to begin (the server's choice when left out), and what one of its messages says. */
export type Source<E> = {
  path: string;
  from?: string | number | undefined;
  read(message: EventSourceMessage): E;
};

/** The events of a stream to its `end`; ends without it only after `failed` or when the signal aborts. */
export async function* followStream<E extends { type: string }>(
  client: Client,
  source: Source<E>,
  options: StreamOptions = {},
): AsyncGenerator<E | WayEvent> {
  const { signal = new AbortController().signal, giveUpMs = 300_000 } = options;
  const place = { lastId: undefined as string | undefined, heardAt: performance.now() };
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    const heardBefore = place.heardAt;
    const failure = yield* oneConnection(client, source, { place, signal });
    if (failure === undefined || signal.aborted) return;
    const isHopeless = performance.now() - place.heardAt > giveUpMs;
    if (isHopeless || !mayMend(failure)) return yield { type: "failed", failure };
    if (place.heardAt !== heardBefore) pauseMs = firstPauseMs;
    if (pauseMs === firstPauseMs) yield { type: "interrupted", failure };
    await pause(failure.retryAfterMs ?? pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

type Place = { lastId: string | undefined; heardAt: number };
type Following = { place: Place; signal: AbortSignal };

const mayMend = (failure: Failure): boolean =>
  failure.status === null || failure.status >= 500 || failure.status === 429;

/** Reads one connection; answers why it broke, or nothing when the stream came to its end. */
async function* oneConnection<E extends { type: string }>(
  client: Client,
  source: Source<E>,
  following: Following,
): AsyncGenerator<E, Failure | undefined> {
  const { place, signal } = following;
  const dead = new AbortController();
  const watch = watchSilence(() => dead.abort(new DOMException("silent", "TimeoutError")));
  try {
    const resume: Record<string, string> =
      place.lastId === undefined ? {} : { "last-event-id": place.lastId };
    const opened = await client.open(source.path, {
      ...(place.lastId === undefined && source.from !== undefined ? { query: { from: source.from } } : {}),
      headers: { accept: "text/event-stream", ...resume },
      signal: AbortSignal.any([signal, dead.signal]),
    });
    if (!opened.ok) return opened.failure;
    // The stream had come to its end at the last id.
    if (opened.status === 204) return undefined;
    for await (const message of messagesOf(opened.value, watch)) {
      place.heardAt = performance.now();
      const event = source.read(message);
      yield event;
      // Only now: an event that its reader has not taken is asked for again.
      if (message.id !== undefined) place.lastId = message.id;
      if (event.type === "end") return undefined;
    }
    return cut(client.url);
  } catch (error) {
    return failureOfThrown(error, client.url);
  } finally {
    watch.stop();
    dead.abort();
  }
}

async function* messagesOf(response: Response, watch: Watch): AsyncGenerator<EventSourceMessage> {
  if (response.body === null) return;
  const queue: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => queue.push(message) });
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    // The clock of the other side's silence stands still while our own reader is slow.
    watch.stop();
    yield* queue.splice(0);
    watch.start();
  }
}

type Watch = { start(): void; stop(): void };

function watchSilence(onSilence: () => void): Watch {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = (): void => clearTimeout(timer);
  const start = (): void => {
    stop();
    timer = setTimeout(onSilence, silenceMs);
  };
  start();
  return { start, stop };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
