import type { Command } from "commander";
import { connect, withConnection } from "../connection.ts";
import { eachProcess, post } from "../each-process.ts";
import type { Verb } from "../verb.ts";

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<id...>", "the processes to signal")
      .option("-s, --signal <signal>", "which, such as TERM, HUP or USR1", "KILL")
      .option("--leader", "only the command itself, not what it started"),
  run,
};

async function run(command: Command): Promise<number> {
  const { signal, leader } = command.opts<{ signal: string; leader?: boolean }>();
  const client = await connect(command);
  const body = { signal, scope: leader ? "leader" : "tree" };
  return eachProcess(command.args, (id) => post(client, id, "signal", { body }));
}
