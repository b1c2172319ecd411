import type { Command } from "commander";
import { deleteNode } from "../../../sdk/nodes.ts";
import { connect, withConnection } from "../../connection.ts";
import { each } from "../../each.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<node...>", "the nodes to delete")
      .addHelpText(
        "after",
        "\nWhat runs there is lost to Drover and not ended: drain it first, and wait (drover nodes drain --wait).",
      ),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  return each(
    command.args,
    (node) => deleteNode(client, node),
    () => "deleted",
  );
}
