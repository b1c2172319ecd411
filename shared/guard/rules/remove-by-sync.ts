import { splitOptions } from "../options.ts";
import { isHomeFolder, isSystemFolder } from "../paths.ts";
import { shown } from "../marks.ts";
import { located } from "../shell.ts";
import type { CommandRule } from "../verdict.ts";

export const removeBySync: CommandRule = {
  rule: "remove_system",
  names: /^rsync$/,
  found(argv, cwd) {
    const { flags, operands } = splitOptions(argv);
    const target = operands.at(-1);
    const clears =
      flags.some((flag) => flag.startsWith("--del")) &&
      !flags.some((flag) => /^-[a-zA-Z]*n|^--dry-run/.test(flag));
    if (!clears || target === undefined) return undefined;
    const path = located(target, cwd);
    return isSystemFolder(path) || isHomeFolder(path)
      ? `remove all that is in ${shown(target)} and not in what is copied there`
      : undefined;
  },
};
