import type { StreamName } from "#shared/streams.ts";
import { processStatuses, type ProcessStatus } from "#shared/process-state.ts";

/**
 * Where a follower stands, as the id of the last event it has: which of `start`, `exit` and `end` were said, the last
 * status, and how far each stream was sent. It holds all that is needed to go on, so a stream resumes without loss or
 * repeat, also on another control plane.
 */
export type Position = { stage: Stage; status: ProcessStatus | "none"; offsets: Record<StreamName, number> };
/** 0: nothing yet, 1: `start`, 2: `exit`, 3: `end` was sent. */
export type Stage = 0 | 1 | 2 | 3;

/** The position before the first event; `from` skips bytes of the merged stream. */
export const startPosition = (from = 0): Position => ({
  stage: 0,
  status: "none",
  offsets: { merged: from, stdout: 0, stderr: 0 },
});

const statuses: readonly string[] = ["none", ...processStatuses];
const shape = /^e([0-3])-([a-z_]+)-(\d{1,15})-(\d{1,15})-(\d{1,15})$/;

/** The id of an event: opaque to clients, ordered, never a bare number. */
export const positionText = ({ stage, status, offsets }: Position): string =>
  `e${stage}-${status}-${offsets.merged}-${offsets.stdout}-${offsets.stderr}`;

/** Reads an event's id or a byte offset; undefined when it is neither. */
export const parsePosition = (text: string): Position | undefined => {
  if (/^\d{1,15}$/.test(text)) return startPosition(Number(text));
  const [, stage, status, merged, stdout, stderr] = shape.exec(text) ?? [];
  if (stage === undefined || status === undefined || !statuses.includes(status)) return undefined;
  return {
    stage: Number(stage) as Stage,
    status: status as Position["status"],
    offsets: { merged: Number(merged), stdout: Number(stdout), stderr: Number(stderr) },
  };
};
