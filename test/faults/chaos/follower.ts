import { followProcess, type ExitEvent, type ProcessEvent } from "../../../sdk/events.ts";
import type { Client } from "../../../sdk/client.ts";
import type { Stream } from "./commands.ts";

/** What one follower heard of a process, over all interruptions. */
export type Followed = {
  bytes: number;
  interruptions: number;
  /** What was wrong with what it heard; the first of each stream. */
  faults: string[];
  /** Up to where each stream was heard. */
  reached: Partial<Record<Stream, number>>;
  exit: ExitEvent | undefined;
  ended: boolean;
};

type Following = {
  client: Client;
  id: string;
  expected: Partial<Record<Stream, Buffer>>;
  signal: AbortSignal;
};

/** Follows a process to its end and compares each byte with the one that has to be there. */
export async function follow({ client, id, expected, signal }: Following): Promise<Followed> {
  const heard: Followed = {
    bytes: 0,
    interruptions: 0,
    faults: [],
    reached: {},
    exit: undefined,
    ended: false,
  };
  for await (const event of followProcess(client, id, { signal })) take(heard, event, expected);
  return heard;
}

function take(heard: Followed, event: ProcessEvent, expected: Following["expected"]): void {
  if (heard.ended && event.type !== "ping") heard.faults.push(`${event.type} after the end`);
  if (event.type === "output") takeOutput(heard, event, expected);
  if (event.type === "gap") heard.faults.push(`a gap from ${event.from} to ${event.to}`);
  if (event.type === "interrupted") heard.interruptions += 1;
  if (event.type === "failed") heard.faults.push(`failed: ${event.failure.code} ${event.failure.message}`);
  if (event.type === "exit" && heard.exit !== undefined) heard.faults.push("a second exit");
  if (event.type === "exit") heard.exit = event;
  if (event.type === "end") heard.ended = true;
}

function takeOutput(
  heard: Followed,
  { stream, from, to, text, b64 }: Extract<ProcessEvent, { type: "output" }>,
  expected: Following["expected"],
): void {
  const at = heard.reached[stream] ?? 0;
  heard.reached[stream] = to;
  const bytes = b64 === undefined ? Buffer.from(text ?? "") : Buffer.from(b64, "base64");
  heard.bytes += bytes.length;
  if (from !== at) heard.faults.push(`${stream} goes on at ${from} instead of ${at}`);
  else if (!bytes.equals(expected[stream]?.subarray(from, to) ?? Buffer.alloc(0)))
    heard.faults.push(`${stream} from ${from} to ${to} holds other bytes: ${bytes.toString().slice(0, 200)}`);
}
