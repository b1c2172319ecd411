import type { Command } from "commander";
import type { Verb } from "../verb.ts";

/** The agent reads its own words, as it also does where it comes as a file of its own. */
export const verb: Verb = {
  define: (command) =>
    command
      .argument("[words...]", "see `drover agent --help`")
      .passThroughOptions()
      .allowUnknownOption()
      .helpOption(false),
  run: async (command: Command) => {
    const { runAgent } = await import("../../node-agent/main.ts");
    return runAgent(command.args, process.env);
  },
};
