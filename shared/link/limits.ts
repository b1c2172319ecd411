/** The version both ends of the link must share. */
export const protocolVersion = 1;

/** A frame that is larger closes its connection (1009) and no other. */
export const maxFrameBytes = 8 * 1024 * 1024;

/** An agent that has said nothing for this long sends a ping. */
export const pingEveryMs = 18_000;
/** An agent tells its load this often: just before the second ping would be due, which it is then, too. */
export const loadEveryMs = 35_000;
/**
 * A control plane that has said nothing for this long answers the next ping or load with a pong. Writing to a socket is most of
 * what an idle agent costs it, so it answers every other sign of life.
 */
export const pongEveryMs = 20_000;
/** An end that heard nothing for this long ends the socket (terminate, not a polite close: the other side may be gone). */
export const agentSilenceMs = 29_000;
export const controlPlaneSilenceMs = 50_000;
/** The first frame must come this soon after the upgrade. */
export const helloWithinMs = 15_000;

/** Bytes of one output chunk, and how many may be on their way unacknowledged for one follower. */
export const chunkBytes = 64 * 1024;
export const windowBytes = 512 * 1024;
/** Head and tail of a stream that are kept in the database. */
export const snapshotBytes = 16 * 1024;
/** How often head and tail of a running process cross the link at most. */
export const snapshotEveryMs = 2000;
/** The most bytes one `read` answers. */
export const readBytes = 1024 * 1024;
/** A start that the agent has not confirmed within this time is fenced. */
export const confirmWithinMs = 30_000;

/** Close codes of the agent socket beyond the standard 1000, 1008 (invalid frame) and 1009 (frame too large). */
export const closeCodes = {
  unauthorized: 4401,
  revoked: 4403,
  superseded: 4408,
  duplicateAgent: 4409,
  versionMismatch: 4426,
  goingAway: 1001,
} as const;
