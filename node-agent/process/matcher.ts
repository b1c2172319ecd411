import { RE2JS, RE2JSSyntaxException } from "re2js";

/** The bytes of one match, as indices of the block it was found in. */
export type Hit = { from: number; to: number };
/** Finds the first match in a block of lines at or after an index that begins a line; a match lies within one line. */
export type Matcher = (block: Buffer, at: number) => Hit | null;
export type Pattern = { text: string; regex: boolean };

/** A matcher for the pattern, or what is wrong with it. */
export const compilePattern = ({ text, regex }: Pattern): Matcher | { wrong: string } => {
  if (!regex)
    return text.includes("\n")
      ? { wrong: "a pattern is searched within lines and cannot hold a line break" }
      : literal(Buffer.from(text));
  try {
    return lineByLine(RE2JS.compile(text));
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return { wrong: error.message };
    throw error;
  }
};

const newline = 10;

const literal =
  (wanted: Buffer): Matcher =>
  (block, at) => {
    const from = at < block.length ? block.indexOf(wanted, at) : -1;
    return from < 0 ? null : { from, to: from + wanted.length };
  };

// Most lines do not match, and test() on a string is the fastest question there is; where it is, is asked of those that do.
const lineByLine =
  (expression: RE2JS): Matcher =>
  (block, at) => {
    for (let from = at; from < block.length;) {
      const to = endOfLine(block, from);
      if (expression.test(block.toString("utf8", from, to)))
        return within(expression, block.subarray(from, to), from);
      from = to + 1;
    }
    return null;
  };

const within = (expression: RE2JS, line: Buffer, from: number): Hit => {
  const matcher = expression.matcher(line);
  // On invalid UTF-8 the bytes may say no where their text said yes: then the place is the start of the line.
  return matcher.find() ? { from: from + matcher.start(), to: from + matcher.end() } : { from, to: from };
};

/** The index of the newline that ends the line around `at`, or the length where none does. */
export const endOfLine = (block: Buffer, at: number): number => {
  const found = block.indexOf(newline, at);
  return found < 0 ? block.length : found;
};

/** The index at which the line around `at` begins. */
export const startOfLine = (block: Buffer, at: number): number =>
  at === 0 ? 0 : block.lastIndexOf(newline, at - 1) + 1;
