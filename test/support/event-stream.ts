import { createParser } from "eventsource-parser";
import type { Api, Query } from "./api.ts";

export type Heard = { id: string | undefined; event: string; data: Record<string, unknown> };

type Listening = {
  from?: number | string;
  lastEventId?: string;
  until?: (event: Heard) => boolean;
  limitMs?: number;
};

const isEnd = ({ event }: Heard): boolean => event === "end";

/** Hears the events of a process up to and including the first for which `until` holds; pings are left out. */
export async function hear(
  api: Api,
  id: string,
  { from, lastEventId, until = isEnd, limitMs = 60_000 }: Listening = {},
): Promise<Heard[]> {
  const query: Query = from === undefined ? {} : { from };
  const headers: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  const response = await api.fetch(`GET /v1/processes/${id}/events`, {
    query,
    headers,
    signal: AbortSignal.timeout(limitMs),
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`events answered ${response.status}: ${await response.text()}`);
  const heard: Heard[] = [];
  const parser = createParser({
    onEvent: ({ id: at, event = "", data }) => {
      if (event !== "ping" && !heard.some(until))
        heard.push({ id: at, event, data: JSON.parse(data) as Heard["data"] });
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    // Leaving the loop ends the connection.
    if (heard.some(until)) return heard;
  }
  throw new Error(`the stream ended early, after ${heard.map(({ event }) => event).join(", ")}`);
}

type Output = { stream: string; from: number; to: number; text?: string; b64?: string };

/** The bytes of a stream out of its events, each of which must begin where the last one ended. */
export function bytesOf(heard: Heard[], { stream = "merged", from = 0 } = {}): Buffer {
  const parts: Buffer[] = [];
  let at = from;
  for (const { event, data } of heard) {
    const output = data as unknown as Output;
    if (event !== "output" || output.stream !== stream) continue;
    if (output.from !== at) throw new Error(`output goes on at ${output.from} instead of ${at}`);
    const bytes =
      output.b64 === undefined ? Buffer.from(output.text ?? "") : Buffer.from(output.b64, "base64");
    if (output.to !== output.from + bytes.length)
      throw new Error(`an event of ${bytes.length} bytes claims [${output.from}, ${output.to})`);
    parts.push(bytes);
    at = output.to;
  }
  return Buffer.concat(parts);
}
