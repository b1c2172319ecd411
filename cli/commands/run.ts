import type { Command } from "commander";
import type { ProcessView } from "#shared/api/process.ts";
import { onlyOnce } from "../../sdk/client.ts";
import { leaseHeaders } from "../../sdk/nodes.ts";
import { ask, connect, withConnection } from "../connection.ts";
import { launchBody, withLaunch, type LaunchOptions } from "../launch-options.ts";
import { pickNode } from "../pick-node.ts";
import { printJson, wantsJson, withShape } from "../print.ts";
import type { Verb } from "../verb.ts";
import { say } from "../write.ts";

type RunOptions = LaunchOptions & { split?: boolean; stdin?: boolean };

const help = `
Examples:
  drover run -n web-1 --label job=nightly -- ./backup.sh
  id=$(drover run -c 'make all') && drover logs -f "$id" && drover wait "$id"

Prints the id of the process and returns; the process goes on.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(withLaunch(command)))
      .option("--split", "keep stdout and stderr apart")
      .option("--stdin", "leave its stdin open for `drover send`")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const options = command.opts<RunOptions>();
  const body = launchBody(command.args, options);
  const client = await connect(command);
  const started = await ask<ProcessView>(client, "POST /v1/processes", {
    headers: { ...onlyOnce(), ...leaseHeaders(options.lease) },
    body: {
      ...body,
      node: await pickNode(client, options.node),
      background: true,
      output: options.split ? "split" : "merged",
      stdin: options.stdin ? "pipe" : "none",
    },
  });
  if (wantsJson(command)) await printJson(started);
  else await say(started.id);
  return 0;
}
