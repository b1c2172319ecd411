import { commandName } from "../options.ts";
import type { CommandRule } from "../verdict.ts";

const call = /(?:^|\.)(?:Reboot|PowerOff|Halt|KExec|Suspend|Hibernate)(?:WithFlags)?$/;

export const powerByBus: CommandRule = {
  rule: "power",
  names: /^(?:busctl|dbus-send|gdbus)$/,
  found: (argv) =>
    argv.some((word) => /login1|systemd1/.test(word)) && argv.some((word) => call.test(word))
      ? `stop or restart the machine (${commandName(argv)})`
      : undefined,
};
