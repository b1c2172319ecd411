import { DroverError, invalid } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { EventPosition, EventRow } from "../store/store.ts";
import { parseEventId } from "./event-id.ts";
import { Watch } from "./watch.ts";

const pageSize = 500;
// Notices may be dropped: a follower looks by itself now and then.
const lookEveryMs = 15_000;
const lookSoonMs = 100;

/**
 * Where a follower of all events begins: behind the id it names, else with what happens from now on. An id that is none or
 * lies ahead is `invalid_request`, one behind which events are no longer kept is `cursor_expired`.
 */
export const eventsFrom = async (
  { store }: Needs,
  text: string | undefined,
  field: string,
): Promise<EventPosition> => {
  if (text === undefined) return store.events.newest();
  const position = parseEventId(text);
  if (position === undefined) throw invalid([{ path: field, message: "must be the id of an event" }]);
  if ((await store.events.after(position, 1)) === "expired")
    throw new DroverError(
      "cursor_expired",
      "events after this id are no longer kept: read what you follow anew and begin without an id",
    );
  if (await store.events.isAhead(position))
    throw invalid([{ path: field, message: "lies ahead of what happened" }]);
  return position;
};

/** All events behind a position, until the signal aborts; it ends early when the follower is so slow that they expire. */
export async function* followEvents(
  needs: Needs,
  from: EventPosition,
  signal: AbortSignal,
): AsyncGenerator<EventRow, void> {
  const watch = new Watch(needs.bus, ["events"]);
  // A follower that leaves while it has an event in hand never comes back here.
  signal.addEventListener("abort", () => watch.close());
  let position = from;
  while (!signal.aborted) {
    const page = await needs.store.events.after(position, pageSize);
    if (page === "expired") return;
    yield* page.events;
    position = page.upTo;
    if (page.isLast) await watch.next(page.heldBack ? lookSoonMs : lookEveryMs, signal);
  }
}
