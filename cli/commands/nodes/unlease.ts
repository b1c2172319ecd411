import type { Command } from "commander";
import { releaseNode } from "../../../sdk/nodes.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<node>", "the node to give back")
      .option("--lease <id>", "only if this is its lease; without it, whoever has it loses it"),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  const [node = ""] = command.args;
  valueOf(await releaseNode(client, node, command.opts<{ lease?: string }>().lease));
  return 0;
}
