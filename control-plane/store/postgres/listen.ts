import { pause } from "#shared/pause.ts";
import { type DatabaseOptions, openConnection, type Sql } from "./client.ts";

export type Listener = {
  onPayload(payload: string): void;
  /** Listening began, for the first time or after a gap. */
  onListening(): void;
  onFailure(error: unknown): void;
};

const checkEveryMs = 5000;
const firstPauseMs = 50;
const longestPauseMs = 1000;

/**
 * Listens on a channel until closed, over a connection of its own. A connection that ends is replaced, and so is one that
 * no longer answers: it is asked now and then, since a far end that vanished says nothing. The package's own `listen` gives
 * up when its first attempt to come back fails.
 */
export function listenOn(
  channel: string,
  options: DatabaseOptions,
  listener: Listener,
): { close(): Promise<void> } {
  const closing = new AbortController();
  const done = listenUntil(closing.signal, { channel, options, listener });
  return {
    close() {
      closing.abort();
      return done;
    },
  };
}

type Listening = { channel: string; options: DatabaseOptions; listener: Listener };

async function listenUntil(signal: AbortSignal, listening: Listening): Promise<void> {
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    try {
      await listenOnce(signal, listening, () => (pauseMs = firstPauseMs));
    } catch (error) {
      listening.listener.onFailure(error);
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** Listens until the connection ends, does not answer, or the signal aborts. */
async function listenOnce(
  signal: AbortSignal,
  { channel, options, listener }: Listening,
  began: () => void,
): Promise<void> {
  const connection = openConnection(options, (_channel, payload) => listener.onPayload(payload));
  const { sql } = connection;
  const over = AbortSignal.any([signal, connection.over]);
  try {
    await sql.unsafe(`listen ${channel}`);
    began();
    listener.onListening();
    while (!over.aborted) {
      await pause(checkEveryMs, over);
      if (!over.aborted) await answers(sql);
    }
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function answers(sql: Sql): Promise<void> {
  const late = new AbortController();
  const timeOut = pause(checkEveryMs, late.signal).then(() => {
    if (!late.signal.aborted) throw new Error("the connection that listens does not answer");
  });
  try {
    await Promise.race([sql`select 1`, timeOut]);
  } finally {
    late.abort();
  }
}
