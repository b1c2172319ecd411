import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import { hasExpired } from "./principal-of.ts";
import { Watch } from "./watch.ts";

/** A call that is over by then costs no look. */
const firstLookMs = 1000;
// Notices are hints and may be dropped, so it looks by itself now and then.
const lookEveryMs = 15_000;

type Watching = Pick<Needs, "store" | "bus" | "log" | "now">;

/** Resolves to true once the token of a principal is revoked or expires, to false when `over` aborts first. */
export const tokenIsVoid = async (
  needs: Watching,
  { tokenId, expiresAt }: Principal,
  over: AbortSignal,
): Promise<boolean> => {
  if (tokenId === null) return false;
  const leftMs = (): number => (expiresAt?.getTime() ?? Infinity) - needs.now().getTime();
  const watch = new Watch(needs.bus, [`token:${tokenId}`]);
  try {
    for (let waitMs = firstLookMs; !over.aborted; waitMs = lookEveryMs) {
      await watch.next(Math.max(0, Math.min(waitMs, leftMs())), over);
      if (!over.aborted && (await isVoid(needs, tokenId))) return true;
    }
    return false;
  } finally {
    watch.close();
  }
};

const isVoid = async ({ store, log, now }: Watching, tokenId: string): Promise<boolean> => {
  try {
    const token = await store.tokens.find(tokenId);
    return token === undefined || hasExpired(token, now());
  } catch (error) {
    // What cannot be read is not known to be void; the next look tells.
    log.warn("token.not_looked_at", { tokenId, error });
    return false;
  }
};
