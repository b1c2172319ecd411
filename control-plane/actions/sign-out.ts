import { DroverError } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";

/** Ends the session of a principal: no request with it is let in from now on, and what waits or streams with it ends. */
export const signOut = async (
  { store, bus, log }: Pick<Needs, "store" | "bus" | "log">,
  { session, tokenId, name }: Principal,
): Promise<void> => {
  if (session === null)
    throw new DroverError(
      "not_found",
      "this request comes with a token and has no session; DELETE /v1/tokens/{id} revokes a token",
    );
  await store.consoleSessions.delete(session.id);
  bus.publish(`session:${session.id}`);
  log.info("session.ended", { sessionId: session.id, tokenId, name });
};
