import type { Command } from "commander";
import { connect, withConnection } from "../connection.ts";
import { eachProcess, post } from "../each-process.ts";
import { duration } from "../options.ts";
import type { Verb } from "../verb.ts";

const longestGraceMs = 600_000;

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<id...>", "the processes to stop, with all they started")
      .option(
        "--grace <duration>",
        "what they get between TERM and KILL (else what they were started with)",
        duration,
      ),
  run,
};

async function run(command: Command): Promise<number> {
  const { grace } = command.opts<{ grace?: number }>();
  const client = await connect(command);
  const options = { body: { graceMs: grace }, waitMs: grace ?? longestGraceMs };
  return eachProcess(command.args, (id) => post(client, id, "stop", options));
}
