const replacement = "\u{FFFD}";

/**
 * The one gate to the database: Postgres holds neither NUL nor half a surrogate pair, in text (22021) or
 * in jsonb (22P05), so both become U+FFFD in every string of a value, keys included.
 */
export function storable<T>(value: T): T;
export function storable(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [storableText(key), storable(inner)]);
  return Object.fromEntries(entries);
}

const storableText = (text: string): string =>
  text.includes("\0") || !text.isWellFormed() ? text.toWellFormed().replaceAll("\0", replacement) : text;

const isPlainObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
