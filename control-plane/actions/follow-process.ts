import type { StreamName } from "#shared/streams.ts";
import { isFinal } from "#shared/process-state.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { FollowedRow } from "./followed-row.ts";
import type { Position } from "./follow-position.ts";
import { followStream, type StreamChunk } from "./follow-stream.ts";
import { merged } from "./merged.ts";
import { OutputText, type OutputEvent } from "./output-events.ts";
import { stored } from "./read-bytes.ts";
import { isGone } from "./stop-process.ts";
import { streamsOf } from "./stored-output.ts";

/**
 * Everything that happens to a process from a position on: `start` → output, gaps and changes of status → `exit`, once
 * all output up to the final totals was sent → what survivors still write → `end`, when the last of them is gone.
 * `at` is the position after the event.
 */
export type FollowEvent = { at: Position } & (
  | { event: "start"; row: ProcessRow }
  | OutputEvent
  | { event: "status"; row: ProcessRow }
  | { event: "exit"; row: ProcessRow }
  | { event: "end"; row: ProcessRow }
);

type Totals = Partial<Record<StreamName, number>>;
type Item = { row: ProcessRow } | { chunk: StreamChunk };

/** The events of a process from a position on, until `end`, or until the signal aborts. */
export async function* followProcess(
  needs: Needs,
  from: { row: ProcessRow; position: Position },
  signal: AbortSignal,
): AsyncGenerator<FollowEvent, void> {
  const followed = new FollowedRow(needs, from.row, signal);
  const position: Position = { ...from.position, offsets: { ...from.position.offsets } };
  const text = new OutputText(position);
  try {
    if (position.stage === 0) yield said(position, { event: "start", row: from.row }, 1);
    yield* whileThere(needs, { followed, position, text });
    if (signal.aborted || !isGone(followed.row)) return;
    yield* text.flush();
    if (position.stage < 2) yield said(position, { event: "exit", row: followed.row }, 2);
    yield said(position, { event: "end", row: followed.row }, 3);
  } finally {
    followed.close();
  }
}

type Following = { followed: FollowedRow; position: Position; text: OutputText };

async function* whileThere(
  needs: Needs,
  { followed, position, text }: Following,
): AsyncGenerator<FollowEvent, void> {
  const streams = streamsOf(followed.row);
  let totals: Totals | undefined;
  const chunks = streams.map((stream) =>
    chunksOf(followStream(needs, followed, { stream, from: position.offsets[stream] })),
  );
  for await (const item of merged<Item>([rowsOf(followed), ...chunks])) {
    if ("chunk" in item) yield* text.take(item.chunk);
    else {
      if (!isFinal(item.row.status) && item.row.status !== position.status && position.stage === 1)
        yield status(position, item.row);
      if (isFinal(item.row.status) && position.stage < 2) totals ??= await totalsOf(needs, item.row, streams);
    }
    if (totals !== undefined && position.stage < 2 && text.reached(totals)) {
      yield* text.flush();
      yield said(position, { event: "exit", row: followed.row }, 2);
    }
  }
}

const said = <E extends { event: "start" | "exit" | "end"; row: ProcessRow }>(
  position: Position,
  event: E,
  stage: 1 | 2 | 3,
): E & { at: Position } => {
  position.stage = stage;
  position.status = event.row.status;
  return { ...event, at: position };
};

const status = (position: Position, row: ProcessRow): FollowEvent => {
  position.status = row.status;
  return { event: "status", row, at: position };
};

const totalsOf = async (needs: Needs, row: ProcessRow, streams: StreamName[]): Promise<Totals> =>
  Object.fromEntries(
    await Promise.all(streams.map(async (stream) => [stream, (await stored(needs, row, stream)).totalBytes])),
  );

async function* rowsOf(followed: FollowedRow): AsyncGenerator<Item, void> {
  for await (const row of followed.rows()) yield { row };
}

async function* chunksOf(chunks: AsyncGenerator<StreamChunk, void>): AsyncGenerator<Item, void> {
  for await (const chunk of chunks) yield { chunk };
}
