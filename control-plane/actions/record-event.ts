import type { Needs } from "../needs.ts";
import type { NewEvent } from "../store/store.ts";

/** Tells those who follow everything of something that was stored just now. */
export const recordEvent = async (
  needs: Pick<Needs, "store" | "bus" | "now">,
  event: Omit<NewEvent, "at">,
): Promise<void> => {
  await needs.store.events.append([{ ...event, at: needs.now() }]);
  needs.bus.publish("events");
};
