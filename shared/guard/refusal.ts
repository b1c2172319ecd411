// The guard is a seat belt, not a wall: it stops the command that would take the machine down by
// mistake, in any plain spelling a shell accepts. It does not see through a variable set elsewhere,
// base64, or a program in another language, and it is no boundary against somebody who means harm.
//
// Order: a cheap look for trigger words (most commands have none) → the parsed text, judged command
// by command, nested texts included → where the text cannot be parsed or costs too much, a scan by
// words that rather refuses too much than too little.
import { judgeCommand, judgeText, newInquiry } from "./judge.ts";
import { scanText } from "./scan.ts";
import { mayMatter } from "./triggers.ts";
import type { Refusal } from "./verdict.ts";

export type { Refusal } from "./verdict.ts";

/** The verdict of the default policy on a shell text; undefined lets it run. Never throws; bounded time for any text up to 1 MiB. */
export function refusal(command: string): Refusal | undefined {
  if (!mayMatter(command)) return undefined;
  const inquiry = newInquiry(command.length);
  return judgeText(command, inquiry) ?? (inquiry.incomplete ? scanText(command) : undefined);
}

/** The verdict of the default policy on one simple command that no shell expands; a `sh -c` text inside is judged too. */
export function refusalOfArgv(argv: readonly string[]): Refusal | undefined {
  if (!argv.some(mayMatter)) return undefined;
  const length = argv.reduce((sum, word) => sum + word.length, 0);
  const inquiry = newInquiry(length);
  return (
    judgeCommand({ argv, stdin: undefined }, inquiry) ??
    (inquiry.incomplete ? scanText(argv.join(" ")) : undefined)
  );
}
