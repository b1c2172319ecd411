import { isRawDevice } from "../devices.ts";
import { commandName, splitOptions } from "../options.ts";
import type { CommandRule } from "../verdict.ts";
import { shown } from "../words.ts";

/** Each command writes to what this picks from its words. */
function targetsOf(argv: readonly string[]): string[] {
  if (commandName(argv) === "dd")
    return argv.filter((word) => word.startsWith("of=")).map((word) => word.slice(3));
  const { operands } = splitOptions(argv);
  return /^(?:tee|shred)$/.test(commandName(argv)) ? operands : operands.slice(-1);
}

export const rawWrite: CommandRule = {
  rule: "raw_disk_write",
  names: /^(?:dd|tee|cp|mv|install|shred)$/,
  found(argv) {
    return targetsOf(argv)
      .map(foundInTarget)
      .find((found) => found !== undefined);
  },
};

/** What is wrong with writing to this path, by redirection or by a command. */
export function foundInTarget(path: string): string | undefined {
  return isRawDevice(path) ? `write straight over the device ${shown(path)}` : undefined;
}
