import { commandName } from "../options.ts";
import { isHomeFolder, isSystemFolder } from "../paths.ts";
import type { CommandRule } from "../verdict.ts";
import { shown } from "../words.ts";

// A test that picks some files makes it a clean-up (`find /var -name '*.log' -delete`); `-type` alone does not.
const picks =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acm](?:time|min)|[ac]?newer.*|size|empty|user|group|uid|gid|nouser|nogroup|inum|samefile|perm|links|used)$/;
const starts = /^-exec(?:dir)?$|^-ok(?:dir)?$/;

/** What `find` runs on what it finds: the words after each -exec, up to `;` or `+`. */
export function executedByFind(argv: readonly string[]): string[][] {
  const runs: string[][] = [];
  let run: string[] | undefined;
  for (const word of argv) {
    if (!run && starts.test(word)) runs.push((run = []));
    else if (run && (word === ";" || word === "+")) run = undefined;
    else run?.push(word);
  }
  return runs;
}

export const removeByFind: CommandRule = {
  rule: "remove_system",
  names: /^find$/,
  found(argv) {
    const expression = argv.findIndex(
      (word, index) => index > 0 && /^[-(!]/.test(word) && !/^-[HLPDO]/.test(word),
    );
    if (expression < 0) return undefined;
    const start = argv.slice(1, expression).find((path) => isSystemFolder(path) || isHomeFolder(path));
    const tests = argv.slice(expression);
    if (start === undefined || tests.some((word, index) => picks.test(word) && tests[index + 1] !== "*"))
      return undefined;
    const removes =
      tests.includes("-delete") ||
      executedByFind(tests).some((run) => run.some((word) => commandName([word]) === "rm"));
    return removes ? `remove ${shown(start)} with all that is in it` : undefined;
  },
};
