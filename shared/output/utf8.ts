/** Whether a byte can only stand inside a code point. */
export const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** How many bytes the code point that this byte starts has; 0 for a byte that starts none. */
function lengthAfterLead(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

// The second byte rules out overlong forms, surrogates and what lies above U+10FFFF.
function canFollow(lead: number, second: number): boolean {
  if (lead === 0xe0) return second >= 0xa0;
  if (lead === 0xed) return second < 0xa0;
  if (lead === 0xf0) return second >= 0x90;
  return lead !== 0xf4 || second < 0x90;
}

/** The length of the longest prefix that does not end inside a code point which later bytes may still complete. */
export function completeUtf8Length(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const at = bytes.length - back;
    const byte = bytes[at] ?? 0;
    if (isContinuation(byte)) continue;
    const second = bytes[at + 1];
    const open = lengthAfterLead(byte) > back && (second === undefined || canFollow(byte, second));
    return open ? at : bytes.length;
  }
  return bytes.length;
}

/** How many bytes at the start (0–3) are the rest of a code point that was cut before them. */
export function startOfUtf8(bytes: Uint8Array): number {
  let skip = 0;
  while (skip < 3 && skip < bytes.length && isContinuation(bytes[skip] ?? 0)) skip++;
  return skip;
}

/** Bytes as text that any JSON or database takes: what is no UTF-8, and NUL, become U+FFFD. A leading byte order mark is kept. */
export const decodeText = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes).replaceAll("\0", "\uFFFD");

/** Whether bytes are valid UTF-8 without NUL, so that decodeText shows them exactly. */
export function isCleanText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    // A fatal decoder throws on the first invalid byte: that is the answer.
    return false;
  }
}

/** At most `max` code points from the start or the end of a text; half a surrogate pair in it becomes U+FFFD. */
export function takeCodePoints(text: string, max: number, from: "start" | "end" = "start"): string {
  const kept =
    from === "start" ? text.slice(0, indexFromStart(text, max)) : text.slice(indexFromEnd(text, max));
  return kept.toWellFormed();
}

function indexFromStart(text: string, max: number): number {
  let at = 0;
  for (let count = 0; count < max && at < text.length; count++)
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}

function indexFromEnd(text: string, max: number): number {
  let at = text.length;
  for (let count = 0; count < max && at > 0; count++)
    at -= at > 1 && (text.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1;
  return at;
}
