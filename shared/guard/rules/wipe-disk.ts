import { hasFlag, splitOptions } from "../options.ts";
import type { CommandRule } from "../verdict.ts";
import { shown } from "../words.ts";

export const wipeDisk: CommandRule = {
  rule: "raw_disk_write",
  names: /^(?:wipefs|blkdiscard)$/,
  found(argv) {
    const { flags, operands } = splitOptions(argv);
    const target = operands.at(-1);
    return target === undefined || hasFlag(flags, "n", "no-act") ? undefined : `wipe ${shown(target)}`;
  },
};
