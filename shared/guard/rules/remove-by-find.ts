import { commandName } from "../options.ts";
import { isHomeFolder, isSystemFolder } from "../paths.ts";
import { located } from "../shell.ts";
import { shown } from "../marks.ts";
import type { CommandRule } from "../verdict.ts";

// A test that picks some files makes it a clean-up (`find /var -name '*.log' -delete`); `-type` alone does not.
const picks =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acm](?:time|min)|[ac]?newer.*|size|empty|user|group|uid|gid|nouser|nogroup|inum|samefile|perm|links|used)$/;
const starts = /^-exec(?:dir)?$|^-ok(?:dir)?$/;
const removes = /^(?:rm|shred|unlink|rmdir)$/;

/** Where the words of `find` stop naming folders. */
const expressionAt = (argv: readonly string[]): number => {
  const at = argv.findIndex((word, index) => index > 0 && /^[-(!]/.test(word) && !/^-[HLPDO]/.test(word));
  return at < 0 ? argv.length : at;
};

const foldersOf = (argv: readonly string[]): string[] => {
  const named = argv.slice(1, expressionAt(argv)).filter((word) => !word.startsWith("-"));
  return named.length > 0 ? named : ["."];
};

/** Whether a `find` finds all that is there. */
export const isUnpickedSearch = (argv: readonly string[]): boolean => {
  const tests = argv.slice(expressionAt(argv));
  // All but some is nearly all.
  const isNegated = (index: number): boolean => /^(?:!|-not)$/.test(tests[index - 1] ?? "");
  return !tests.some((word, index) => picks.test(word) && tests[index + 1] !== "*" && !isNegated(index));
};

/** What `find` runs on what it finds: the words after each -exec, up to `;` or `+`, with the folder itself as what is found. */
export function executedByFind(argv: readonly string[]): string[][] {
  const found = isUnpickedSearch(argv) ? foldersOf(argv) : [];
  const runs: string[][] = [];
  let run: string[] | undefined;
  for (const word of argv) {
    if (!run && starts.test(word)) runs.push((run = []));
    else if (run && (word === ";" || word === "+")) run = undefined;
    else if (word === "{}" && found.length > 0) run?.push(...found);
    else run?.push(word);
  }
  return runs;
}

export const removeByFind: CommandRule = {
  rule: "remove_system",
  names: /^find$/,
  found(argv, cwd) {
    const start = foldersOf(argv).find((word) => {
      const path = located(word, cwd);
      return isSystemFolder(path) || isHomeFolder(path);
    });
    if (start === undefined || !isUnpickedSearch(argv)) return undefined;
    const deletes =
      argv.slice(expressionAt(argv)).includes("-delete") ||
      executedByFind(argv).some((run) => run.some((word) => removes.test(commandName([word]))));
    return deletes ? `remove ${shown(start)} with all that is in it` : undefined;
  },
};
