import { splitOptions } from "../options.ts";
import { isHomeFolder, isSystemFolder } from "../paths.ts";
import { shown } from "../marks.ts";
import { located } from "../shell.ts";
import type { CommandRule } from "../verdict.ts";

export const moveAway: CommandRule = {
  rule: "remove_system",
  names: /^mv$/,
  found(argv, cwd) {
    const { flags, operands } = splitOptions(argv);
    const moved = flags.some((flag) => /^-t|^--target/.test(flag)) ? operands : operands.slice(0, -1);
    const target = moved.find((word) => {
      const path = located(word, cwd);
      // Moving what is in a home folder is a person's business; the folder itself is not.
      return isSystemFolder(path) || (!/[\uFDD2\uFDD3]/.test(word) && isHomeFolder(path));
    });
    return target === undefined ? undefined : `move ${shown(target)} away with all that is in it`;
  },
};
