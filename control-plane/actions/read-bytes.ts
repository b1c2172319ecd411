import type { StreamName } from "#shared/streams.ts";
import { readReply, type ReadReply } from "#shared/link/frames.ts";
import { readBytes as maxReadBytes } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow, StoredOutput } from "../store/store.ts";
import { answerOf, askTimeoutMs } from "./ask-node.ts";
import { fromBase64 } from "#shared/base64.ts";
import { isGone } from "./stop-process.ts";
import { holdsAll, joinPieces, readStored, storedOf, type Ask, type Reading } from "./stored-output.ts";

/** The most bytes that one answer of a node carries. */
export { maxReadBytes };

/**
 * What could be read and where it is from. `away`: the node did not answer, so this is the stored head and tail;
 * `forgotten`: the node answered that it no longer keeps the process, so nothing else will ever come.
 */
export type Answered = Reading & { source: "whole" | "node" | "away" | "forgotten" };

/** Reads parts of a stream: from the store when that holds everything, else from the node, else what the store has. */
export const readBytes = async (
  needs: Needs,
  row: ProcessRow,
  stream: StreamName,
  ask: Ask,
): Promise<Answered> => {
  if (row.status === "queued") return { totalBytes: 0, pieces: [], source: "whole" };
  const early = isGone(row) ? await stored(needs, row, stream) : undefined;
  if (early !== undefined && holdsAll(early)) return { ...readStored(early, ask), source: "whole" };
  const outcome = await askOnNode(needs, row, stream, ask);
  if (outcome !== "away" && outcome !== "forgotten") return { ...outcome, source: "node" };
  return { ...readStored(early ?? (await stored(needs, row, stream)), ask), source: outcome };
};

/** Head and tail of a stream as stored. */
export const stored = async (needs: Needs, row: ProcessRow, stream: StreamName): Promise<StoredOutput> =>
  storedOf(
    row,
    row.totalBytes === 0 && isGone(row) ? [] : await needs.store.processes.outputs(row.id),
    stream,
  );

type FromNode = Reading | "away" | "forgotten";

const askOnNode = async (needs: Needs, row: ProcessRow, stream: StreamName, ask: Ask): Promise<FromNode> => {
  const outcome = await needs.hub.request(
    row.nodeId,
    { type: "read", id: row.id, stream, ...ask },
    { timeoutMs: askTimeoutMs },
  );
  if (outcome.outcome === "ok") return readingOf(answerOf(outcome.value, readReply));
  return outcome.outcome === "refused" && outcome.code === "not_found" ? "forgotten" : "away";
};

const readingOf = (reply: ReadReply): Reading => ({
  totalBytes: reply.totalBytes,
  pieces: joinPieces(
    reply.parts.map((part) => ({ from: part.from, to: part.to, bytes: fromBase64(part.b64) })),
  ),
});
