/**
 * What hides the values of secrets in output. It works on bytes, wherever they are cut, by these rules:
 *
 * - A byte is hidden when it belongs to an occurrence of a pattern in the stream as it was written. Patterns are each value
 *   and its three base64 forms: the characters that are the same whatever stands before and behind it. Single line breaks
 *   (LF, CR LF) are no part of a pattern and may stand anywhere in an occurrence: terminals turn one into the other, and
 *   base64 comes in lines.
 * - A hidden byte is shown as `*`, a line break as itself. So offsets, counts and lines are those of the file.
 * - An occurrence that touches a range lies within `reach` bytes of it. Who masks a range therefore looks at `reach` bytes
 *   more on both sides: whatever ranges a reader asks for, they show the same bytes.
 * - Where bytes are missing (a gap), what may be the rest of a value behind it, or the beginning of one before it, is hidden.
 * - At the present end of a stream the same holds for a beginning of at least 4 bytes, or of 16 where a line break follows. It
 *   may become a value or not; until then it counts as one. `open` says how many bytes may be a beginning, also a shorter one:
 *   who follows a stream can wait for more before it passes them on.
 */
export type Mask = { patterns: readonly Pattern[]; /** Bytes on each side of a range. */ reach: number };
type Pattern = { bytes: Buffer; /** The least shift at which it matches itself. */ period: number };

/** What stands beyond the bytes at hand: `more` that is known to hold no occurrence, a gap, or nothing yet. */
export type Beyond = "more" | "gap" | "nothing-yet";
export type Masked = { bytes: Buffer; open: number };

const [star, lf, cr] = [42, 10, 13];

/** How many bytes count as the beginning of a value: to be held back for a moment, and to be hidden. */
const leastOf = (bytes: Buffer, after: Beyond): { held: number; hidden: number } => {
  if (after === "more") return { held: Infinity, hidden: Infinity };
  if (after === "gap") return { held: Infinity, hidden: 1 };
  // A line that ends so is rarely the beginning of a broken one.
  return isBreak(bytes.at(-1)) ? { held: 16, hidden: 16 } : { held: 1, hidden: 4 };
};

/** The mask of these values; undefined where there is nothing to hide. */
export const maskOf = (values: string[]): Mask | undefined => {
  const texts = values.flatMap((value) => [Buffer.from(value), ...base64Forms(Buffer.from(value))]);
  const bare = texts.map((text) => trimmed(unbroken(text).bytes)).filter((bytes) => bytes.length > 0);
  const patterns = [...new Map(bare.map((bytes) => [bytes.toString("latin1"), bytes])).values()].map(
    (bytes) => ({ bytes, period: periodOf(bytes) }),
  );
  if (patterns.length === 0) return undefined;
  // Each byte may be followed by CR LF, and whether a break is single is seen from the two bytes around it.
  return { patterns, reach: 3 * Math.max(...patterns.map(({ bytes }) => bytes.length)) + 4 };
};

/** Without the line breaks around it, which a shell leaves out. */
const trimmed = (bytes: Buffer): Buffer => {
  const from = bytes.findIndex((byte) => !isBreak(byte));
  return from < 0
    ? bytes.subarray(0, 0)
    : bytes.subarray(from, bytes.findLastIndex((byte) => !isBreak(byte)) + 1);
};

/** The characters of base64 that the value alone decides, for the three places it can have in a group of three bytes. */
const base64Forms = (value: Buffer): Buffer[] => {
  const forms = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), value, Buffer.alloc(2)]).toString("base64");
    return text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * (before + value.length)) / 6));
  });
  const urlForms = forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"));
  return [...forms, ...urlForms].map((form) => Buffer.from(form));
};

/** The bytes with every occurrence hidden; the same buffer where there is none. */
export const masked = (bytes: Buffer, mask: Mask, around: { before: Beyond; after: Beyond }): Masked => {
  const { bytes: text, parts } = unbroken(bytes);
  const beginning = longest(mask, (wanted) => beginningAtEnd(text, wanted));
  const least = leastOf(bytes, around.after);
  const spans = [
    { from: 0, to: around.before === "gap" ? longest(mask, (wanted) => rest(text, wanted)) : 0 },
    { from: text.length - (beginning >= least.hidden ? beginning : 0), to: text.length },
    ...mask.patterns.flatMap((pattern) => occurrences(text, pattern)),
  ].filter(({ from, to }) => from < to);
  return {
    bytes: spans.length === 0 ? bytes : broken(bytes, starred(text, spans), parts),
    open: beginning >= least.held ? bytes.length - rawIndex(text.length - beginning, parts) : 0,
  };
};

type Span = { from: number; to: number };
/** A stretch of the bytes without single line breaks: where it lies in them, and in the text without breaks. */
type Part = { raw: Span; at: number };

/** The text without its single line breaks, and where its parts come from. */
const unbroken = (bytes: Buffer): { bytes: Buffer; parts: Part[] } => {
  const parts: Part[] = [];
  let [from, at] = [0, 0];
  const take = (to: number) => {
    parts.push({ raw: { from, to }, at });
    at += to - from;
  };
  for (let i = bytes.indexOf(lf); i >= 0; i = bytes.indexOf(lf, i + 1)) {
    const begins = bytes[i - 1] === cr ? i - 1 : i;
    if (isBreak(bytes[begins - 1]) || isBreak(bytes[i + 1])) continue;
    take(begins);
    from = i + 1;
  }
  if (parts.length === 0) return { bytes, parts: [{ raw: { from: 0, to: bytes.length }, at: 0 }] };
  take(bytes.length);
  return { bytes: Buffer.concat(parts.map(({ raw }) => bytes.subarray(raw.from, raw.to))), parts };
};

const isBreak = (byte: number | undefined): boolean => byte === lf || byte === cr;

/** The bytes with the text put back between their line breaks. */
const broken = (bytes: Buffer, text: Buffer, parts: Part[]): Buffer => {
  const whole = Buffer.from(bytes);
  for (const { raw, at } of parts) text.copy(whole, raw.from, at, at + raw.to - raw.from);
  return whole;
};

const rawIndex = (index: number, parts: Part[]): number => {
  const part = parts.findLast(({ at, raw }) => at <= index && raw.from < raw.to) ?? parts[0];
  return part ? part.raw.from + index - part.at : index;
};

const starred = (text: Buffer, spans: Span[]): Buffer => {
  const hidden = Buffer.from(text);
  for (const { from, to } of spans) for (let i = from; i < to; i++) if (!isBreak(hidden[i])) hidden[i] = star;
  return hidden;
};

/** Every occurrence, overlapping ones too; those of a text that repeats itself as one. */
const occurrences = (text: Buffer, { bytes: wanted, period }: Pattern): Span[] => {
  const spans: Span[] = [];
  for (let from = text.indexOf(wanted); from >= 0; from = text.indexOf(wanted, from + 1)) {
    let to = from + wanted.length;
    // As long as the text goes on as it did one period before, whole periods of it are occurrences.
    while (to < text.length && text[to] === text[to - period]) to++;
    const repeats = Math.floor((to - from - wanted.length) / period);
    spans.push({ from, to: from + wanted.length + repeats * period });
    from += repeats * period;
  }
  return spans;
};

const longest = (mask: Mask, lengthOf: (wanted: Buffer) => number): number =>
  mask.patterns.reduce((most, { bytes }) => Math.max(most, lengthOf(bytes)), 0);

/** How many of the first bytes may be the rest of the pattern, or all of them a part out of its middle. */
const rest = (text: Buffer, wanted: Buffer): number => {
  if (text.length < wanted.length && wanted.includes(text)) return text.length;
  const first = text[0];
  if (first === undefined) return 0;
  for (let i = wanted.indexOf(first, 1); i > 0; i = wanted.indexOf(first, i + 1))
    if (wanted.subarray(i).equals(text.subarray(0, wanted.length - i))) return wanted.length - i;
  return 0;
};

/** How many of the last bytes may be the beginning of the pattern. */
const beginningAtEnd = (text: Buffer, wanted: Buffer): number => {
  const first = wanted[0];
  if (first === undefined) return 0;
  const begins = Math.max(0, text.length - wanted.length + 1);
  for (let i = text.indexOf(first, begins); i >= 0; i = text.indexOf(first, i + 1))
    if (text.subarray(i).equals(wanted.subarray(0, text.length - i))) return text.length - i;
  return 0;
};

/** By the failure function of Knuth, Morris and Pratt. */
const periodOf = (bytes: Buffer): number => {
  const borders = new Uint32Array(bytes.length);
  for (let i = 1, border = 0; i < bytes.length; i++) {
    while (border > 0 && bytes[i] !== bytes[border]) border = borders[border - 1] ?? 0;
    if (bytes[i] === bytes[border]) border++;
    borders[i] = border;
  }
  return bytes.length - (borders.at(-1) ?? 0);
};
