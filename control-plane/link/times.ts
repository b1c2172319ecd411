import { agentSilenceMs, helloWithinMs, pongEveryMs } from "#shared/link/limits.ts";

/** How long the link waits for what; tests shorten them. */
export const linkTimes = {
  /** The first frame must come this soon. */
  helloWithinMs,
  /** A socket that was silent for this long is dropped; Infinity where the runtime watches that, since a timer keeps it awake. */
  silenceMs: agentSilenceMs,
  /** Signs of life are answered when nothing was said for this long. */
  pongEveryMs,
  /** A live agent whose node another one claims must answer a probe this soon. */
  challengeMs: 2000,
  /** A socket that does not finish the closing handshake is dropped after this. */
  closingMs: 2000,
  /** Signs of life are written down this often, those of all nodes together. */
  seenEveryMs: 30_000,
  /** The first and the longest pause before a database call is tried again. */
  retryMs: { first: 100, longest: 5000 },
  /** How long the link waits for its sessions when it closes, and a session for its last words to the database. */
  farewellMs: 5000,
};
export type LinkTimes = typeof linkTimes;
