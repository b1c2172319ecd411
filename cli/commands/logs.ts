import type { Command } from "commander";
import { connect, withConnection } from "../connection.ts";
import { showLogs } from "../logs/show.ts";
import { count } from "../options.ts";
import { UsageError, type Verb } from "../verb.ts";

type LogsOptions = { follow?: boolean; tail?: number; stream?: string; raw?: boolean };

const help = `
Examples:
  drover logs proc_…               all that is kept
  drover logs proc_… -f --tail 20  the last lines, then what comes
  drover logs proc_… --raw > out   its bytes exactly

What a process wrote to stderr, kept apart, goes to stderr here.`;

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<id>", "the process")
      .option("-f, --follow", "go on until it has ended")
      .option("--tail <n>", "begin with the last n lines", count)
      .option("--stream <stream>", "only stdout or stderr, of a process that keeps them apart")
      .option("--raw", "the bytes as they are; else what is no text shows as �")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const { follow = false, raw = false, tail, stream } = command.opts<LogsOptions>();
  if (stream !== undefined && stream !== "stdout" && stream !== "stderr")
    throw new UsageError(`--stream is stdout or stderr, not ${stream}`);
  const client = await connect(command);
  return showLogs(client, command.args[0] ?? "", { follow, raw, tail, stream });
}
