// What a process wrote, from its event stream: the same bytes, in the same order, whether they are old or new. Without
// --follow it ends where the process was when it was asked; --tail finds out first where the last lines begin.

import type { StreamName } from "#shared/streams.ts";
import type { Client } from "../../sdk/client.ts";
import { followProcess, type OutputEvent } from "../../sdk/events.ts";
import { bytesOf } from "../exec/attend.ts";
import { exitCodes, signalNumber } from "../exit-code.ts";
import { Failed } from "../verb.ts";
import { stderrFd, stdoutFd, tell, writeAll } from "../write.ts";
import { extents, startsOfTail, type Extent } from "./extent.ts";

export type LogsWanted = {
  follow: boolean;
  raw: boolean;
  tail: number | undefined;
  stream: "stdout" | "stderr" | undefined;
};

/** Shows what a process wrote and answers the exit code. */
export async function showLogs(client: Client, id: string, wanted: LogsWanted): Promise<number> {
  const places = await extents(client, id, wanted.stream);
  if (wanted.tail !== undefined) await startsOfTail(client, id, { places, lines: wanted.tail });
  if (!wanted.follow && places.every(isReached)) return exitCodes.ok;
  const write = writer(places, wanted);
  const [only, ...others] = places;
  const from = others.length === 0 && only !== undefined ? only.at : 0;
  for await (const event of followProcess(client, id, { from })) {
    if (event.type === "failed") throw new Failed(event.failure.message, exitCodes.drover);
    if (event.type === "interrupted") await tell(`drover: ${event.failure.message}; connecting again`);
    if (event.type === "output" && (await write(event)) === "gone") return 128 + signalNumber("PIPE");
    if (event.type === "gap") await tell(`drover: ${event.to - event.from} bytes are not kept`);
    if (event.type === "output" || event.type === "gap") advance(places, event);
    if (!wanted.follow && places.every(isReached)) break;
  }
  return exitCodes.ok;
}

const isReached = (place: Extent): boolean => place.at >= place.totalBytes;

function advance(places: Extent[], event: { stream?: StreamName; to: number }): void {
  for (const place of places)
    if (event.stream === undefined || event.stream === place.stream) place.at = Math.max(place.at, event.to);
}

/** Writes what lies behind each stream's place. */
function writer(places: Extent[], { raw, stream }: LogsWanted) {
  const decoders = new Map<StreamName, TextDecoder>();
  const shown = (event: OutputEvent, bytes: Uint8Array): Uint8Array => {
    if (raw) return bytes;
    const decoder = decoders.get(event.stream) ?? new TextDecoder("utf-8", { ignoreBOM: true });
    decoders.set(event.stream, decoder);
    return Buffer.from(decoder.decode(bytes, { stream: true }).replaceAll("\0", "\uFFFD"));
  };
  return (event: OutputEvent) => {
    const place = places.find((each) => each.stream === event.stream);
    if (place === undefined || event.to <= place.at) return Promise.resolve("ok" as const);
    const bytes = bytesOf(event).subarray(Math.max(0, place.at - event.from));
    // Asked for by name it is the result; beside stdout it stays apart.
    const fd = event.stream === "stderr" && stream === undefined ? stderrFd : stdoutFd;
    return writeAll(fd, shown(event, bytes));
  };
}
