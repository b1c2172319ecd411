import { commandName, hasFlag, splitOptions } from "../options.ts";
import { isSystemFolder } from "../paths.ts";
import type { CommandRule } from "../verdict.ts";
import { shown } from "../words.ts";

export const recursiveMode: CommandRule = {
  rule: "recursive_mode",
  names: /^(?:chmod|chown|chgrp)$/,
  found(argv) {
    const { flags, operands } = splitOptions(argv);
    if (!hasFlag(flags, "R", "recursive")) return undefined;
    const target = operands.find(isSystemFolder);
    return target === undefined
      ? undefined
      : `change mode or owner of all files below ${shown(target)} (${commandName(argv)})`;
  },
};
