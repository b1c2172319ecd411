import { commandName } from "../options.ts";
import type { CommandRule } from "../verdict.ts";

const verbs = new Set([
  "reboot",
  "soft-reboot",
  "poweroff",
  "halt",
  "kexec",
  "suspend",
  "hibernate",
  "hybrid-sleep",
  "suspend-then-hibernate",
  "exit",
  "rescue",
  "emergency",
]);
const targets =
  /^(?:reboot|poweroff|halt|kexec|shutdown|rescue|emergency|suspend|hibernate|ctrl-alt-del|runlevel[06])\.target$/;
const starting = new Set(["start", "isolate", "restart"]);
const valued = new Set([
  "-H",
  "-M",
  "-t",
  "-p",
  "-P",
  "-n",
  "-o",
  "-s",
  "--host",
  "--machine",
  "--type",
  "--property",
  "--signal",
  "--state",
  "--root",
  "--message",
  "--when",
]);

function endsSession(argv: readonly string[]): boolean {
  const operands = argv.filter(
    (word, index) => index > 0 && !word.startsWith("-") && !valued.has(argv[index - 1] ?? ""),
  );
  const [verb = "", ...units] = operands;
  return verbs.has(verb) || (starting.has(verb) && units.some((unit) => targets.test(unit)));
}

function powersDown(argv: readonly string[]): boolean {
  switch (commandName(argv)) {
    case "systemctl":
    case "loginctl":
      return endsSession(argv);
    case "init":
    case "telinit":
      return argv.slice(1).some((word) => /^[06]$/.test(word));
    case "kexec":
      return argv.some((word) => /^-[a-z]*e$|^--exec$|^--force$/.test(word));
    default:
      return !argv.some((word) => word === "--help" || word === "--version" || word === "-c");
  }
}

export const power: CommandRule = {
  rule: "power",
  names: /^(?:shutdown|reboot|poweroff|halt|init|telinit|systemctl|loginctl|kexec)$/,
  found(argv) {
    return powersDown(argv) ? `stop or restart the machine (${commandName(argv)})` : undefined;
  },
};

/** The kernel's own switch, written to by a command. */
export const powerBySwitch: CommandRule = {
  rule: "power",
  names: /^(?:tee|cp|dd)$/,
  found: (argv) =>
    argv.map((word) => foundInSwitch(word.replace(/^of=/, ""))).find((found) => found !== undefined),
};

/** What is wrong with writing to this path: the kernel's own switch acts at once. */
export const foundInSwitch = (path: string): string | undefined =>
  path === "/proc/sysrq-trigger" ? "stop or restart the machine (sysrq)" : undefined;
