// What a word stands for once the shell has expanded it, as far as that can be known from the text.
import {
  type Command,
  type CommandArgument,
  type DoubleQuotedChild,
  parse,
  type ParameterExpansionPart,
  type Redirection,
  type Script,
  type Word,
  type WordPart,
} from "unbash";
import { asUnquoted, marks } from "./marks.ts";
import { printedBy } from "./printed.ts";
import type { Shell } from "./shell.ts";

const plainItem = /^[\w/.:@%+=-]*$/;
const maxReadings = 64;
const maxParts = 512;
const maxBraceText = 1024;
const maxDepth = 3;
const maxReadingChars = 16 * 1024;

/** The strings one shell word becomes: one, or several by braces, by splitting, or because a loop gives several (at most 64). */
export function readWord(word: Word, shell: Shell, depth = 0): string[] {
  if (!word.parts) return [withTilde(word.value, word.text)];
  let readings = [""];
  for (const [index, part] of word.parts.slice(0, maxParts).entries()) {
    const endings = readPart(part, { shell, depth, first: index === 0 });
    readings = readings.flatMap((start) => endings.map((end) => start + end)).slice(0, maxReadings);
    if ((readings[0]?.length ?? 0) > maxReadingChars) return [marks.unknown];
  }
  const cut = word.parts.length > maxParts ? readings.map((start) => start + marks.unknown) : readings;
  return cut.flatMap((reading) => (reading.includes(marks.gap) ? split(reading) : [reading]));
}

const split = (reading: string): string[] => reading.split(marks.gap).filter((word) => word !== "");

/** The words of a simple command, its name first. */
export const argvOf = (node: Command, shell: Shell): string[] => [
  ...(node.name ? readWord(node.name, shell) : []),
  ...node.args.flatMap((argument) => readArgument(argument, shell)),
];

function readArgument(argument: CommandArgument, shell: Shell): string[] {
  if (argument.type === "Word") return readWord(argument, shell);
  const value = argument.value.type === "Word" ? readWord(argument.value, shell) : [marks.unknown];
  return value.map((reading) => `${argument.name}=${reading}`);
}

/** What a command reads from a heredoc or a here-string; undefined where it reads something else. */
export function inputOf(redirects: readonly Redirection[], shell: Shell): string | undefined {
  const input = redirects.findLast((redirect) => redirect.type !== "Redirect");
  if (input?.type === "HereDoc") return input.body.text;
  return input?.type === "HereString" && input.target ? readWord(input.target, shell).join(" ") : undefined;
}

type Around = { shell: Shell; depth: number; first: boolean };

function readPart(part: WordPart, around: Around): string[] {
  const { shell, depth } = around;
  switch (part.type) {
    case "Literal":
      return [around.first ? withTilde(part.value, part.text) : part.value];
    case "Glob":
      return [part.kind === "star" ? marks.star : marks.one];
    case "ExtendedGlob":
      return [marks.star];
    case "DoubleQuoted":
    case "LocaleString":
      return readQuotedParts(part.parts, shell, depth);
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [part.value];
    case "BraceExpansion":
      return readBraces(part.text, shell, depth);
    case "ProcessSubstitution":
      return [marks.unknown];
    default:
      return readExpansion(part, shell, depth).map(asUnquoted);
  }
}

function readQuotedParts(parts: readonly DoubleQuotedChild[], shell: Shell, depth: number): string[] {
  let readings = [""];
  for (const part of parts.slice(0, maxParts)) {
    const endings = readExpansion(part, shell, depth);
    readings = readings.flatMap((start) => endings.map((end) => start + end)).slice(0, maxReadings);
  }
  return readings;
}

function readExpansion(part: DoubleQuotedChild, shell: Shell, depth: number): string[] {
  if (part.type === "Literal") return [part.value];
  if (part.type === "SimpleExpansion") return valuesOf(part.text.slice(1), shell);
  if (part.type === "ParameterExpansion") return readParameter(part, shell, depth);
  if (part.type === "CommandExpansion" && part.script && depth < maxDepth)
    return [printedInside(part.script, shell, depth) ?? marks.unknown];
  return [marks.unknown];
}

function valuesOf(name: string, shell: Shell): readonly string[] & string[] {
  const known = shell.values.get(name);
  if (known) return [...known];
  if (name === "HOME") return [marks.home];
  return [name === "PWD" && shell.cwd !== undefined ? shell.cwd : marks.unknown];
}

// `${HOME:-x}`, `${HOME%/}` and `${HOME:?}` are the home folder; `${#HOME}` and `${HOME/a/b}` are not. A value that
// the text does not say may be its default.
function readParameter(part: ParameterExpansionPart, shell: Shell, depth: number): string[] {
  const { operation } = part;
  if (part.prefix || part.index) return [marks.unknown];
  const values = valuesOf(part.parameter, shell);
  if (!operation) return values;
  if (operation.type === "Remove")
    return values.map((value) => (value === marks.home ? value : marks.unknown));
  if (operation.type !== "Default") return [marks.unknown];
  if (operation.operator.endsWith("+")) return [marks.unknown];
  const isKnown = values.some((value) => value !== marks.unknown);
  if (isKnown || operation.operator.endsWith("?") || depth >= maxDepth) return values;
  const standby = readWord(operation.operand, shell, depth + 1);
  return standby.every((reading) => reading === "") ? values : standby;
}

function withTilde(value: string, text: string): string {
  const tilde = /^~([^/]*)/.exec(text);
  if (!tilde) return value;
  const user = tilde[1] ?? "";
  const folder = user === "+" || user === "-" ? marks.unknown : marks.home;
  return folder + value.slice(1 + user.length);
}

function readBraces(text: string, shell: Shell, depth: number): string[] {
  const items = topLevelItems(text.slice(1, -1));
  if (items.length < 2 || text.length > maxBraceText || depth >= maxDepth) return [marks.unknown];
  return items.slice(0, maxReadings).flatMap((item) => {
    if (plainItem.test(item)) return [item];
    const command = parse(`: ${item}`).commands[0]?.command;
    const word = command?.type === "Command" ? command.args[0] : undefined;
    return word?.type === "Word" ? readWord(word, shell, depth + 1) : [""];
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

// `$(echo /)`: a substitution of one command that writes its words.
function printedInside(script: Script, shell: Shell, depth: number): string | undefined {
  if (script.commands.length === 0) return "";
  const only = script.commands.length === 1 ? script.commands[0]?.command : undefined;
  if (only?.type !== "Command" || !only.name || only.prefix.length > 0) return undefined;
  const words = [only.name, ...only.args].flatMap((word) =>
    word.type === "Word" ? readWord(word, shell, depth + 1) : [marks.unknown],
  );
  return printedBy(words, { shell, stdin: inputOf(only.redirects, shell) })?.replace(/\n+$/, "");
}
