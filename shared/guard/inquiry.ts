import type { Rulebook } from "./rulebook.ts";

/** What may still be spent on one command, in characters looked at, and by which rules it is judged. */
export type Inquiry = { charsLeft: number; incomplete: boolean; book: Rulebook };

/** Longer texts are read by their lines (scan.ts). */
export const maxParsedChars = 128 * 1024;

/** Room for a text of this length with ordinary nesting: about a tenth of a second at most. */
export const newInquiry = (length: number, book: Rulebook): Inquiry => ({
  charsLeft: Math.max(64 * 1024, 8 * Math.min(length, maxParsedChars)),
  incomplete: false,
  book,
});

/** Pays for a look; false, for good, once there is nothing left. */
export function pay(inquiry: Inquiry, chars: number): boolean {
  inquiry.charsLeft -= chars + 1;
  if (inquiry.charsLeft < 0) inquiry.incomplete = true;
  return !inquiry.incomplete;
}
