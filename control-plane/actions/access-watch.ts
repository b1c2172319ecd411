import type { Topic } from "../bus/bus.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import { sessionIsOver } from "./principal-of-session.ts";
import { hasExpired } from "./principal-of.ts";
import { Watch } from "./watch.ts";

/** A call that is over by then costs no look. */
const firstLookMs = 1000;
// Notices are hints and may be dropped, so it looks by itself now and then; it is how a session that nobody uses is seen to be over.
const lookEveryMs = 15_000;

type Watching = Pick<Needs, "store" | "bus" | "log" | "now" | "config">;

/** Whether what a principal came with can end at all before its request does. */
export const canEnd = ({ tokenId, session }: Principal): boolean => tokenId !== null || session !== null;

/**
 * Resolves to true once the token of a principal is revoked or expires, or its session is signed out or over; to false when `over`
 * aborts first.
 */
export const accessIsVoid = async (
  needs: Watching,
  principal: Principal,
  over: AbortSignal,
): Promise<boolean> => {
  const ends = [principal.expiresAt, principal.session?.expiresAt].map((end) => end?.getTime() ?? Infinity);
  const leftMs = (): number => Math.min(...ends) - needs.now().getTime();
  const watch = new Watch(needs.bus, topicsOf(principal));
  try {
    for (let waitMs = firstLookMs; !over.aborted; waitMs = lookEveryMs) {
      await watch.next(Math.max(0, Math.min(waitMs, leftMs())), over);
      if (!over.aborted && (await isVoid(needs, principal))) return true;
    }
    return false;
  } finally {
    watch.close();
  }
};

const topicsOf = ({ tokenId, session }: Principal): Topic[] => [
  ...(tokenId === null ? [] : [`token:${tokenId}` as const]),
  ...(session === null ? [] : [`session:${session.id}` as const]),
];

const isVoid = async (needs: Watching, { tokenId, session }: Principal): Promise<boolean> => {
  try {
    if (tokenId !== null && (await tokenIsVoid(needs, tokenId))) return true;
    return session !== null && (await sessionIsVoid(needs, session.id));
  } catch (error) {
    // What cannot be read is not known to be void; the next look tells.
    needs.log.warn("access.not_looked_at", { tokenId, sessionId: session?.id, error });
    return false;
  }
};

const tokenIsVoid = async ({ store, now }: Watching, id: string): Promise<boolean> => {
  const token = await store.tokens.find(id);
  return token === undefined || hasExpired(token, now());
};

const sessionIsVoid = async ({ store, now, config }: Watching, id: string): Promise<boolean> => {
  const session = await store.consoleSessions.find(id);
  return session === undefined || sessionIsOver(session, config.signIn, now());
};
