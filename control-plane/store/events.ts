import type { EventType } from "#shared/api/event.ts";
import type { Sight } from "./sight.ts";

/**
 * What happened, kept for those who follow everything. Events are ordered by position: the transaction that wrote them,
 * then their number. A reader that goes on behind its last position misses none and sees none twice: `after` shows only
 * what no transaction that is still open can come before.
 */
export interface Events {
  append(events: NewEvent[]): Promise<void>;
  /** In order, behind this position; `expired` when something behind it is no longer kept. */
  after(position: EventPosition, limit: number, within?: Sight): Promise<EventPage | "expired">;
  /** Where one begins who wants what comes: behind all that has happened, but for what overlaps with a transaction that is open. */
  newest(): Promise<EventPosition>;
  /** Whether a position lies ahead of everything that was written. */
  isAhead(position: EventPosition): Promise<boolean>;
  /** Forgets, from the oldest on, events until the first that is not older than this; returns how many. */
  prune(before: Date): Promise<number>;
}

export type EventPosition = { transaction: bigint; id: number };

export type NewEvent = {
  at: Date;
  type: EventType;
  nodeId: string | null;
  data: Record<string, unknown>;
};

export type EventRow = NewEvent & { position: EventPosition };

/**
 * `upTo`: the position behind this page, on which there may be events that are not seen; `isLast`: there are no more for now. `heldBack`:
 * there are, which wait for an open transaction; nobody says when it ends, so look again soon.
 */
export type EventPage = { events: EventRow[]; upTo: EventPosition; isLast: boolean; heldBack: boolean };
