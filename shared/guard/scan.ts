// Where a text cannot be parsed whole, it is read by its lines; and a line that cannot be parsed
// either, by its words. The words are judged from each name that a rule knows, wherever it stands, with
// quotes taken away: more is refused than need be, and nothing in plain spelling slips through.
import type { Inquiry } from "./inquiry.ts";
import { judgeTarget, judgeText } from "./judge.ts";
import { marks } from "./marks.ts";
import { commandName } from "./options.ts";
import { forkBombRule } from "./rules/fork-bomb.ts";
import { power } from "./rules/power.ts";
import type { Rulebook } from "./rulebook.ts";
import { newShell } from "./shell.ts";
import { mayMatter } from "./triggers.ts";
import { type CommandRule, type Refusal, refused } from "./verdict.ts";

const maxParsedLine = 2048;
const maxHeads = 256;
const maxParsedInAll = 128 * 1024;

/** The refusal of a text that could not be judged by its syntax: in doubt it is refused. Linear time. */
export function scanText(text: string, book: Rulebook): Refusal | undefined {
  if (book.unreadable) return book.unreadable;
  const bomb = book.holds(forkBombRule) ? bombIn(text) : undefined;
  if (bomb) return bomb;
  let left = maxParsedInAll;
  for (const line of text.replaceAll("\\\n", "").split("\n")) {
    if (!book.program && !mayMatter(line)) continue;
    left -= line.length;
    const verdict = left > 0 && line.length <= maxParsedLine ? judgeLine(line, book) : scanLine(line, book);
    if (verdict) return verdict;
  }
  return undefined;
}

function judgeLine(line: string, book: Rulebook): Refusal | undefined {
  const inquiry: Inquiry = { charsLeft: 16 * line.length + 256, incomplete: false, book };
  return (
    judgeText({ text: line, shell: newShell() }, inquiry) ??
    (inquiry.incomplete ? scanLine(line, book) : undefined)
  );
}

function scanLine(line: string, book: Rulebook): Refusal | undefined {
  const marked = line
    .replace(/\$\{?HOME\b[^}\s"']{0,64}\}?|(?<![^\s"'=])~(?=[/\s"';]|$)/g, marks.home)
    .replace(/\$\{?\w+\}?/g, marks.unknown)
    .replaceAll("*", marks.star)
    .replaceAll("?", marks.one);
  // Quotes may join a word (`"rm" -rf`) or begin a text (`sh -c "reboot"`); both readings are tried.
  return (
    scanSegments(marked.replace(/["'\\]/g, ""), book) ?? scanSegments(marked.replace(/["']/g, ";"), book)
  );
}

function scanSegments(text: string, book: Rulebook): Refusal | undefined {
  for (const [, path = ""] of text.matchAll(/>[>|&]?[ \t]{0,8}([^\s;&|<>()]+)/g)) {
    const verdict = judgeTarget(path, { book });
    if (verdict) return verdict;
  }
  for (const segment of text.split(/[;&|(){}`]+/)) {
    if (segment.length < 2 || (!book.program && !mayMatter(segment))) continue;
    const verdict = scanWords(
      segment.split(/\s+/).filter((word) => word !== ""),
      book,
    );
    if (verdict) return verdict;
  }
  return undefined;
}

function scanWords(words: readonly string[], book: Rulebook): Refusal | undefined {
  const names = words.map((word) => commandName([word]));
  for (const rule of book.commandRules) {
    const at = names.findIndex((name, index) => rule.names.test(name) && standsRight(rule, words, index));
    const found = at < 0 ? undefined : rule.found(words.slice(at), undefined);
    if (found !== undefined) return refused(rule.rule, found);
  }
  for (const name of book.program ? names : []) {
    const verdict = book.program?.(name);
    if (verdict) return verdict;
  }
  return undefined;
}

// `reboot` is also a plain word: it counts at the start of a command or behind a wrapper's name.
const standsRight = (rule: CommandRule, words: readonly string[], index: number): boolean =>
  rule !== power ||
  index === 0 ||
  /^(?:sudo|doas|exec|nohup|env|then|do|else|command|if|!|systemctl)$/.test(words[index - 1] ?? "");

// Parentheses first and the name before them second: looking for names first costs their length at every letter.
const bombHead = /\(\s{0,8}\)|\bfunction\s{1,8}([^\s(){};&|]{1,64})/g;
const nameBefore = /([^\s(){};&|]{1,64})\s{0,8}$/;

function bombIn(text: string): Refusal | undefined {
  let left = maxHeads;
  for (const head of text.matchAll(bombHead)) {
    if (left-- === 0) return undefined;
    const name = head[1] ?? nameBefore.exec(text.slice(Math.max(0, head.index - 72), head.index))?.[1];
    if (name === undefined) continue;
    const body = text.slice(head.index + head[0].length, head.index + head[0].length + 512);
    const calls = body.split(/[\s{}();&]+|(\|)/).filter(Boolean);
    const piped = calls.some(
      (word, index) => word === "|" && calls[index - 1] === name && calls[index + 1] === name,
    );
    if (piped) return refused(forkBombRule, "start itself again and again without end (a fork bomb)");
  }
  return undefined;
}
