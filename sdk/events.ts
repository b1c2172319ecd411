// Following a process: a stream of server-sent events that survives its connection.
//
// Each event has an id, the point to resume from. When the connection breaks, is silent for longer than the server's
// pings allow, or ends without `end`, it is opened again after a growing pause with the last id, so nothing is lost
// or repeated. A failure that asking again cannot mend (not found, unauthorized) ends the stream at once, one that it
// may mend ends it after `giveUpMs` without a single event.

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { ProcessView } from "#shared/api/process.ts";
import type { StreamName } from "#shared/streams.ts";
import type { Client } from "./client.ts";
import { cut, failureOfThrown, type Failure } from "./failure.ts";

/** The server pings every 15 s; twice that and a half without a byte means the connection is dead. */
const silenceMs = 40_000;
const firstPauseMs = 250;
const longestPauseMs = 5_000;

export type OutputEvent = {
  type: "output";
  stream: StreamName;
  from: number;
  to: number;
  text?: string;
  b64?: string;
};
export type ExitEvent = { type: "exit" } & Pick<
  ProcessView,
  "status" | "exitCode" | "signal" | "reason" | "survivors"
>;
export type ProcessEvent =
  | OutputEvent
  | ExitEvent
  | { type: "gap"; stream?: StreamName; from: number; to: number }
  | { type: "start" | "status" | "end" | "ping" }
  /** The connection is gone and will be opened again; said once per break. */
  | { type: "interrupted"; failure: Failure }
  /** The last item when the stream had to be given up. */
  | { type: "failed"; failure: Failure };

export type FollowOptions = {
  /** A byte offset of the stream to begin with; 0 when left out. */
  from?: number;
  signal?: AbortSignal;
  giveUpMs?: number;
};

/** Everything that happens to a process, from its first byte to `end`; ends without `end` only after `failed` or when the signal aborts. */
export async function* followProcess(
  client: Client,
  id: string,
  options: FollowOptions = {},
): AsyncGenerator<ProcessEvent> {
  const { signal = new AbortController().signal, giveUpMs = 300_000 } = options;
  const place = { lastId: undefined as string | undefined, heardAt: performance.now() };
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    const heardBefore = place.heardAt;
    const failure = yield* oneConnection(client, pathOf(id, place.lastId, options.from), { place, signal });
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

function pathOf(id: string, lastId: string | undefined, from = 0): string {
  const start = lastId === undefined && from > 0 ? `?from=${from}` : "";
  return `/v1/processes/${encodeURIComponent(id)}/events${start}`;
}

const mayMend = (failure: Failure): boolean =>
  failure.status === null || failure.status >= 500 || failure.status === 429;

/** Reads one connection; answers why it broke, or nothing when the stream came to its end. */
async function* oneConnection(
  client: Client,
  path: string,
  following: Following,
): AsyncGenerator<ProcessEvent, Failure | undefined> {
  const { place, signal } = following;
  const dead = new AbortController();
  const watch = watchSilence(() => dead.abort(new DOMException("silent", "TimeoutError")));
  try {
    const resume: Record<string, string> =
      place.lastId === undefined ? {} : { "last-event-id": place.lastId };
    const opened = await client.open(path, {
      headers: { accept: "text/event-stream", ...resume },
      signal: AbortSignal.any([signal, dead.signal]),
    });
    if (!opened.ok) return opened.failure;
    // The stream had come to its end at the last id.
    if (opened.status === 204) return undefined;
    for await (const message of messagesOf(opened.value, watch)) {
      place.heardAt = performance.now();
      const event = eventOf(message);
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

const eventOf = (message: EventSourceMessage): ProcessEvent => {
  const data: unknown = message.data === "" ? {} : JSON.parse(message.data);
  return { ...(data as object), type: message.event ?? "message" } as ProcessEvent;
};

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
