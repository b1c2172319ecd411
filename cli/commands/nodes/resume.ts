import type { Command } from "commander";
import { resumeNode } from "../../../sdk/nodes.ts";
import { chosenNodes, withSelector } from "../../chosen-nodes.ts";
import { connect, withConnection } from "../../connection.ts";
import { each } from "../../each.ts";
import { nodeText } from "../../node-text.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = {
  define: (command) =>
    withSelector(withConnection(command)).argument("[node...]", "the nodes that take starts again"),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  const nodes = await chosenNodes(client, command.args, command.opts<{ selector?: string }>().selector);
  return each(nodes, (node) => resumeNode(client, node), nodeText);
}
