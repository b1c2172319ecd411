// What a word stands for once the shell has expanded it, as far as that can be known from the text.
// What is not plain text becomes a mark: a character that Unicode keeps free of meaning. Marks
// live on inside a nested text (`bash -c "rm -rf $HOME"`), where the parser takes them as letters.
import { type DoubleQuotedChild, parse, type ParameterExpansionPart, type Word, type WordPart } from "unbash";

export const marks = { unknown: "\uFDD0", home: "\uFDD1", star: "\uFDD2", one: "\uFDD3" } as const;

const plainItem = /^[\w/.:@%+=-]*$/;
const maxReadings = 64;
const maxParts = 512;
const maxBraceText = 1024;
const maxBraceDepth = 3;

/** The strings one shell word becomes: one, or several by brace expansion (at most 64). */
export function readWord(word: Word, depth = 0): string[] {
  if (!word.parts) return [withTilde(word.value, word.text)];
  let readings = [""];
  for (const [index, part] of word.parts.slice(0, maxParts).entries()) {
    const endings = readPart(part, index === 0, depth);
    readings = readings.flatMap((start) => endings.map((end) => start + end)).slice(0, maxReadings);
  }
  return word.parts.length > maxParts ? readings.map((start) => start + marks.unknown) : readings;
}

function readPart(part: WordPart, first: boolean, depth: number): string[] {
  switch (part.type) {
    case "Literal":
      return [first ? withTilde(part.value, part.text) : part.value];
    case "Glob":
      return [part.kind === "star" ? marks.star : marks.one];
    case "ExtendedGlob":
      return [marks.star];
    case "DoubleQuoted":
    case "LocaleString":
      return [part.parts.map(readQuoted).join("")];
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [part.value];
    case "BraceExpansion":
      return readBraces(part.text, depth);
    case "ProcessSubstitution":
      return [marks.unknown];
    default:
      return [readQuoted(part)];
  }
}

function readQuoted(part: DoubleQuotedChild): string {
  if (part.type === "Literal") return part.value;
  if (part.type === "SimpleExpansion") return part.text === "$HOME" ? marks.home : marks.unknown;
  if (part.type === "ParameterExpansion") return isHome(part) ? marks.home : marks.unknown;
  return marks.unknown;
}

// `${HOME:-x}`, `${HOME%/}` and `${HOME:?}` are the home folder; `${#HOME}` and `${HOME/a/b}` are not.
function isHome(part: ParameterExpansionPart): boolean {
  if (part.parameter !== "HOME" || part.prefix) return false;
  const operation = part.operation;
  if (!operation || operation.type === "Remove") return true;
  return operation.type === "Default" && !operation.operator.endsWith("+");
}

function withTilde(value: string, text: string): string {
  const tilde = /^~([^/]*)/.exec(text);
  if (!tilde) return value;
  const user = tilde[1] ?? "";
  const folder = user === "+" || user === "-" ? marks.unknown : marks.home;
  return folder + value.slice(1 + user.length);
}

function readBraces(text: string, depth: number): string[] {
  const items = topLevelItems(text.slice(1, -1));
  if (items.length < 2 || text.length > maxBraceText || depth >= maxBraceDepth) return [marks.unknown];
  return items.slice(0, maxReadings).flatMap((item) => {
    if (plainItem.test(item)) return [item];
    const command = parse(`: ${item}`).commands[0]?.command;
    const word = command?.type === "Command" ? command.args[0] : undefined;
    return word?.type === "Word" ? readWord(word, depth + 1) : [""];
  });
}

function topLevelItems(text: string): string[] {
  const items = [""];
  let depth = 0;
  for (const char of text) {
    if (char === "{") depth++;
    if (char === "}") depth--;
    if (char === "," && depth === 0) items.push("");
    else items[items.length - 1] += char;
  }
  return items;
}

/** Reads back a nested shell text: globs that an outer shell had not matched are globs again. */
export const asShellText = (reading: string): string =>
  reading.replaceAll(marks.star, "*").replaceAll(marks.one, "?");

/** A reading as it may be shown to a person. */
export const shown = (reading: string): string =>
  asShellText(reading).replaceAll(marks.home, "~").replaceAll(marks.unknown, "…");
