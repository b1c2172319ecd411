// Where a text cannot be parsed whole, it is read by its lines; and a line that cannot be parsed
// either, by its words. The words are judged from each name that a rule knows, wherever it stands, with
// quotes taken away: more is refused than need be, and nothing in plain spelling slips through.
import { judgeTarget, judgeText } from "./judge.ts";
import { commandName } from "./options.ts";
import { forkBombRule } from "./rules/fork-bomb.ts";
import { power } from "./rules/power.ts";
import { commandRules } from "./rules.ts";
import { mayMatter } from "./triggers.ts";
import { type CommandRule, type Refusal, refused } from "./verdict.ts";
import { marks } from "./words.ts";

const maxParsedLine = 2048;
const maxHeads = 256;
const maxParsedInAll = 128 * 1024;

/** The refusal of a text that could not be judged by its syntax: in doubt it is refused. Linear time. */
export function scanText(text: string): Refusal | undefined {
  const bomb = bombIn(text);
  if (bomb) return bomb;
  let left = maxParsedInAll;
  for (const line of text.replaceAll("\\\n", "").split("\n")) {
    if (!mayMatter(line)) continue;
    left -= line.length;
    const verdict = left > 0 && line.length <= maxParsedLine ? judgeLine(line) : scanLine(line);
    if (verdict) return verdict;
  }
  return undefined;
}

function judgeLine(line: string): Refusal | undefined {
  const inquiry = { charsLeft: 16 * line.length + 256, incomplete: false };
  return judgeText(line, inquiry) ?? (inquiry.incomplete ? scanLine(line) : undefined);
}

function scanLine(line: string): Refusal | undefined {
  const marked = line
    .replace(/\$\{?HOME\b[^}\s"']{0,64}\}?|(?<![^\s"'=])~(?=[/\s"';]|$)/g, marks.home)
    .replace(/\$\{?\w+\}?/g, marks.unknown)
    .replaceAll("*", marks.star)
    .replaceAll("?", marks.one);
  // Quotes may join a word (`"rm" -rf`) or begin a text (`sh -c "reboot"`); both readings are tried.
  return scanSegments(marked.replace(/["'\\]/g, "")) ?? scanSegments(marked.replace(/["']/g, ";"));
}

function scanSegments(text: string): Refusal | undefined {
  for (const [, path = ""] of text.matchAll(/>[>|&]?[ \t]{0,8}([^\s;&|<>()]+)/g)) {
    const verdict = judgeTarget(path);
    if (verdict) return verdict;
  }
  for (const segment of text.split(/[;&|(){}`]+/)) {
    if (!mayMatter(segment)) continue;
    const verdict = scanWords(segment.split(/\s+/).filter((word) => word !== ""));
    if (verdict) return verdict;
  }
  return undefined;
}

function scanWords(words: readonly string[]): Refusal | undefined {
  const names = words.map((word) => commandName([word]));
  for (const rule of commandRules) {
    const at = names.findIndex((name, index) => rule.names.test(name) && standsRight(rule, words, index));
    const found = at < 0 ? undefined : rule.found(words.slice(at));
    if (found !== undefined) return refused(rule.rule, found);
  }
  return undefined;
}

// `reboot` is also a plain word: it counts at the start of a command or behind a wrapper's name.
const standsRight = (rule: CommandRule, words: readonly string[], index: number): boolean =>
  rule !== power ||
  index === 0 ||
  /^(?:sudo|doas|exec|nohup|env|then|do|else|command|if|!|systemctl)$/.test(words[index - 1] ?? "");

const bombHead = /([^\s(){};&|]{1,64})\s{0,8}\(\s{0,8}\)|\bfunction\s{1,8}([^\s(){};&|]{1,64})/g;

function bombIn(text: string): Refusal | undefined {
  let left = maxHeads;
  for (const head of text.matchAll(bombHead)) {
    if (left-- === 0) return undefined;
    const name = head[1] ?? head[2] ?? "";
    const body = text.slice(head.index + head[0].length, head.index + head[0].length + 512);
    const calls = body.split(/[\s{}();&]+|(\|)/).filter(Boolean);
    const piped = calls.some(
      (word, index) => word === "|" && calls[index - 1] === name && calls[index + 1] === name,
    );
    if (piped) return refused(forkBombRule, "start itself again and again without end (a fork bomb)");
  }
  return undefined;
}
