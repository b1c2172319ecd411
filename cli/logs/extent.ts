import type { StreamName } from "#shared/streams.ts";
import type { Client, Query } from "../../sdk/client.ts";
import type { Answer } from "../../sdk/failure.ts";
import { valueOf } from "../connection.ts";

/** Where a stream ends now, and how far it has been shown. */
export type Extent = { stream: StreamName; totalBytes: number; at: number };

/** The streams of a process that were asked for, each from its start. */
export async function extents(
  client: Client,
  id: string,
  stream: "stdout" | "stderr" | undefined,
): Promise<Extent[]> {
  if (stream !== undefined) return [valueOf(await extentOf(client, id, stream))];
  // A process that keeps its streams apart has no merged one to read from.
  const merged = await extentOf(client, id, "merged");
  if (merged.ok || merged.failure.code !== "invalid_request") return [valueOf(merged)];
  return [valueOf(await extentOf(client, id, "stdout")), valueOf(await extentOf(client, id, "stderr"))];
}

async function extentOf(client: Client, id: string, stream: StreamName): Promise<Answer<Extent>> {
  const query = { view: "range", from: 0, to: 0, stream };
  const answer = await client.request<{ totalBytes: number }>("GET", pathOf(id), { query });
  if (!answer.ok) return answer;
  return { ...answer, value: { stream, totalBytes: answer.value.totalBytes, at: 0 } };
}

const pathOf = (id: string): string => `/v1/processes/${encodeURIComponent(id)}/output`;

/** How far back from the end lines are looked for. */
const mostBytes = 1024 * 1024;
const newline = 10;

/** Moves each place to where the last lines begin. */
export async function startsOfTail(
  client: Client,
  id: string,
  { places, lines }: { places: Extent[]; lines: number },
): Promise<void> {
  for (const place of places) {
    const from = Math.max(0, place.totalBytes - mostBytes);
    const query: Query = { view: "range", from, to: place.totalBytes, stream: place.stream, format: "raw" };
    const answer = await client.open(pathOf(id), { query, signal: AbortSignal.timeout(60_000) });
    const bytes = new Uint8Array(await valueOf(answer).arrayBuffer());
    place.at = place.totalBytes - lengthOfLastLines(bytes, lines);
  }
}

/** How many bytes the last lines have; a line without an end counts, the end of the last one begins none. */
export function lengthOfLastLines(bytes: Uint8Array, lines: number): number {
  if (lines === 0) return 0;
  let at = bytes.length;
  if (bytes[at - 1] === newline) at--;
  for (let found = 0; found < lines; found++) {
    if (at <= 0) return bytes.length;
    at = bytes.lastIndexOf(newline, at - 1);
    if (at === -1) return bytes.length;
  }
  return bytes.length - at - 1;
}
