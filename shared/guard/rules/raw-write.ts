import { isRawDevice } from "../devices.ts";
import { commandName, splitOptions } from "../options.ts";
import type { CommandRule } from "../verdict.ts";
import { shown } from "../marks.ts";
import { located } from "../shell.ts";

/** Each command writes to what this picks from its words. */
function targetsOf(argv: readonly string[]): string[] {
  if (commandName(argv) === "dd")
    return argv.filter((word) => word.startsWith("of=")).map((word) => word.slice(3));
  const { operands } = splitOptions(argv);
  return /^(?:tee|shred|truncate)$/.test(commandName(argv)) ? operands : operands.slice(-1);
}

export const rawWrite: CommandRule = {
  rule: "raw_disk_write",
  names: /^(?:dd|tee|cp|mv|install|shred|truncate)$/,
  found(argv, cwd) {
    return targetsOf(argv)
      .map((path) => foundInTarget(located(path, cwd)))
      .find((found) => found !== undefined);
  },
};

/** What is wrong with writing to this path, by redirection or by a command. */
export function foundInTarget(path: string): string | undefined {
  return isRawDevice(path) ? `write straight over the device ${shown(path)}` : undefined;
}
