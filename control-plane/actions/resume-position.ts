import type { StreamName } from "#shared/streams.ts";
import { invalid } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { parsePosition, startPosition, type Position } from "./follow-position.ts";
import { readBytes, stored } from "./read-bytes.ts";
import { isGone } from "./stop-process.ts";
import { streamsOf } from "./stored-output.ts";
import { getProcess } from "./wait-final.ts";

/** Where a follower wants to begin; a position that is malformed, of another kind of output, or ahead is `invalid_request`. */
export const resumePosition = async (
  needs: Needs,
  id: string,
  text: string | undefined,
  field: string,
): Promise<{ row: ProcessRow; position: Position }> => {
  const position = text === undefined ? startPosition() : parsePosition(text);
  if (position === undefined)
    throw invalid([{ path: field, message: "must be a byte offset or the id of an event" }]);
  const row = await getProcess(needs, id);
  for (const stream of ["merged", "stdout", "stderr"] as const)
    await requireReached(needs, row, { stream, offset: position.offsets[stream], field });
  return { row, position };
};

type Claim = { stream: StreamName; offset: number; field: string };

const requireReached = async (
  needs: Needs,
  row: ProcessRow,
  { stream, offset, field }: Claim,
): Promise<void> => {
  if (offset === 0) return;
  if (!streamsOf(row).includes(stream))
    throw invalid([
      {
        path: field,
        message: "is no position of this process's streams; resume a split output by an event's id",
      },
    ]);
  const known = await stored(needs, row, stream);
  // A lost process may have written more than it ever reported.
  if (offset <= known.totalBytes || row.status === "lost") return;
  if (!isGone(row)) {
    // What is stored of a live process lags behind; its node knows. While that is away, the position may well be right.
    const answered = await readBytes(needs, row, stream, { head: 0 });
    if (answered.source === "away" || offset <= answered.totalBytes) return;
  }
  throw invalid([{ path: field, message: "lies ahead of what was written" }]);
};
