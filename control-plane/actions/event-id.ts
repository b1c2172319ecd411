import type { EventPosition } from "../store/store.ts";

// Of one width, so that ids compare as texts in the order of their events.
const digits = 14;
const shape = /^[0-9a-f]{14}-[0-9a-f]{14}$/;

/** The id of an event for clients: opaque to them, its position to us. */
export const eventId = ({ transaction, id }: EventPosition): string =>
  `${transaction.toString(16).padStart(digits, "0")}-${id.toString(16).padStart(digits, "0")}`;

/** The position of an id; undefined when it is none. */
export const parseEventId = (text: string): EventPosition | undefined => {
  const [transaction, id] = text.split("-");
  if (!shape.test(text) || transaction === undefined || id === undefined) return undefined;
  const number = Number.parseInt(id, 16);
  return Number.isSafeInteger(number) ? { transaction: BigInt(`0x${transaction}`), id: number } : undefined;
};
