import type { Command } from "commander";
import { connect, valueOf, withConnection } from "../connection.ts";
import { post } from "../each-process.ts";
import { exitCodeOfFailure } from "../exit-code.ts";
import { passInput } from "../exec/input.ts";
import { Failed, UsageError, type Verb } from "../verb.ts";

type SendOptions = { eof?: boolean; newline: boolean };

const help = `
Examples:
  drover send proc_… yes                 the line "yes"
  drover send proc_… --eof               the end of its input
  drover send proc_… --eof - < dump.sql  a whole file

The process must have an open stdin (\`drover run --stdin\`).`;

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<id>", "the process")
      .argument("[text...]", "a line for its stdin; - passes on what is read here")
      .option("--eof", "then end its input")
      .option("--no-newline", "the text without a line end")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const { eof = false, newline } = command.opts<SendOptions>();
  const [id = "", ...words] = command.args;
  if (words.length === 0 && !eof) throw new UsageError("nothing to send: give text, - or --eof");
  const client = await connect(command);
  if (words.length === 1 && words[0] === "-") {
    const never = new AbortController().signal;
    const failure = await passInput({ client, id, signal: never }, { eof });
    if (failure !== undefined) throw new Failed(failure.message, exitCodeOfFailure(failure));
    return 0;
  }
  const text = words.length === 0 ? undefined : `${words.join(" ")}${newline ? "\n" : ""}`;
  valueOf(await post(client, id, "stdin", { body: { text, eof } }));
  return 0;
}
