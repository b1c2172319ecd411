// The guard is a seat belt, not a wall: it stops the command that would take the machine down by
// mistake, in any plain spelling a shell accepts. It does not see through a variable set elsewhere,
// base64, or a program in another language, and it is no boundary against somebody who means harm.
//
// Order: the parsed text, walked as a shell would run it and judged command by command, nested texts included → where
// the text cannot be parsed or costs too much, a scan by words that rather refuses too much than too little. A long
// text is first looked through for trigger words: most have none.
import { maxParsedChars, newInquiry } from "./inquiry.ts";
import { judgeCommand, judgeText } from "./judge.ts";
import type { Rulebook } from "./rulebook.ts";
import { commandRules } from "./rules.ts";
import { scanText } from "./scan.ts";
import { newShell } from "./shell.ts";
import { mayMatter } from "./triggers.ts";
import type { Refusal } from "./verdict.ts";

export type { Refusal } from "./verdict.ts";

/** What is known about a start besides its words. */
export type Surroundings = {
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  /** The text that the command reads. */
  stdin?: string | undefined;
};

/** All rules of the default policy, and nothing else. */
export const defaultBook: Rulebook = {
  commandRules,
  holds: () => true,
  program: undefined,
  unreadable: undefined,
};

const cheapChars = 4096;

/** The verdict on a shell text; undefined lets it run. Never throws; bounded time for any text up to 1 MiB. */
export function refusal(command: string, around: Surroundings = {}, book = defaultBook): Refusal | undefined {
  const isLong = command.length > cheapChars;
  if (isLong && book.program === undefined && !mayMatter(command)) return undefined;
  const inquiry = newInquiry(command.length, book);
  return (
    judgeText({ text: command, shell: newShell(around), stdin: readable(around.stdin) }, inquiry) ??
    (inquiry.incomplete ? scanText(command, book) : undefined)
  );
}

/** The verdict on one simple command that no shell expands; a `sh -c` text inside is judged too. */
export function refusalOfArgv(
  argv: readonly string[],
  around: Surroundings = {},
  book = defaultBook,
): Refusal | undefined {
  const length = argv.reduce((sum, word) => sum + word.length, 0);
  const isLong = length > cheapChars;
  if (isLong && book.program === undefined && !argv.some(mayMatter) && around.stdin === undefined)
    return undefined;
  const inquiry = newInquiry(length, book);
  return (
    judgeCommand({ argv, stdin: readable(around.stdin), shell: newShell(around) }, inquiry) ??
    (inquiry.incomplete ? scanText(argv.join(" "), book) : undefined)
  );
}

// Data is often long; a script that is fed to a shell is not.
const readable = (stdin: string | undefined): string | undefined =>
  stdin !== undefined && stdin.length <= maxParsedChars ? stdin : undefined;
