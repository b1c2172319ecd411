import { commandName, hasFlag, splitOptions } from "../options.ts";
import { isHomeFolder, isSystemFolder } from "../paths.ts";
import type { CommandRule } from "../verdict.ts";
import { shown } from "../marks.ts";
import { located } from "../shell.ts";

export const removeTree: CommandRule = {
  rule: "remove_system",
  names: /^(?:s?rm|rimraf)$/,
  found(argv, cwd) {
    const { flags, operands } = splitOptions(argv);
    const isRecursive = commandName(argv) === "rimraf" || hasFlag(flags, "rR", "recursive");
    if (!isRecursive) return undefined;
    const target = operands.find((word) => {
      const path = located(word, cwd);
      return isSystemFolder(path) || isHomeFolder(path);
    });
    return target === undefined ? undefined : `remove ${shown(target)} with all that is in it`;
  },
};
