import { commandName, hasFlag, splitOptions } from "../options.ts";
import { isSystemFolder } from "../paths.ts";
import type { CommandRule } from "../verdict.ts";
import { shown } from "../marks.ts";
import { located } from "../shell.ts";

export const recursiveMode: CommandRule = {
  rule: "recursive_mode",
  names: /^(?:chmod|chown|chgrp|setfacl)$/,
  found(argv, cwd) {
    const { flags, operands } = splitOptions(argv);
    if (!hasFlag(flags, "R", "recursive")) return undefined;
    const target = operands.find((word) => isSystemFolder(located(word, cwd)));
    return target === undefined
      ? undefined
      : `change mode or owner of all files below ${shown(target)} (${commandName(argv)})`;
  },
};
