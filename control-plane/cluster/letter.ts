import * as z from "zod";
import { plainFrame, requestFrame } from "#shared/link/frames.ts";
import { streamNames } from "#shared/streams.ts";
import { b64 } from "#shared/link/b64.ts";

/**
 * What control planes write to each other about a node whose socket one of them has. `talk` names one conversation: a question
 * and its answer, or one follower. A letter may be lost with the database, so whoever waits for one has a limit.
 */
const talk = z.string().min(1).max(64);
const nodeId = z.string();

/** To the holder of a node. */
const push = z.object({ kind: z.literal("push"), nodeId, frame: plainFrame });
/** This start is the recipient's to send (see link/dispatch.ts); without one: the node's queue may have grown. */
const dispatch = z.object({
  kind: z.literal("dispatch"),
  nodeId,
  id: z.string().optional(),
  handOut: z.int().optional(),
});
const ask = z.object({
  kind: z.literal("ask"),
  talk,
  nodeId,
  frame: requestFrame,
  /** What the frame writes to a stdin, sealed. */
  sealed: b64.optional(),
  timeoutMs: z.number(),
});
/** Does the agent of this node answer a probe? Another agent claims its node. */
const probe = z.object({ kind: z.literal("probe"), talk, nodeId });
const follow = z.object({
  kind: z.literal("follow"),
  talk,
  nodeId,
  what: z.object({ id: z.string(), stream: z.enum(streamNames), from: z.number() }),
});
/** The follower took everything before `to`. */
const credit = z.object({ kind: z.literal("credit"), talk, to: z.number() });
/** Nobody waits for the answer, or follows, any more. */
const hangUp = z.object({ kind: z.literal("hang_up"), talk });

/** To whoever asked. */
const answer = z.object({ kind: z.literal("answer"), talk, value: z.unknown() });
const chunk = z.object({
  kind: z.literal("chunk"),
  talk,
  from: z.number(),
  to: z.number(),
  b64: b64.nullable(),
});
/** The follow is over. */
const end = z.object({ kind: z.literal("end"), talk });

export const letter = z.discriminatedUnion("kind", [
  push,
  dispatch,
  ask,
  probe,
  follow,
  credit,
  hangUp,
  answer,
  chunk,
  end,
]);
export type LetterBody = z.infer<typeof letter>;
export type LetterOf<K extends LetterBody["kind"]> = Extract<LetterBody, { kind: K }>;
