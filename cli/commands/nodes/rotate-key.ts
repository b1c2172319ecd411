import type { Command } from "commander";
import { rotateKey } from "../../../sdk/nodes.ts";
import { connect, withConnection } from "../../connection.ts";
import { each } from "../../each.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = {
  define: (command) => withConnection(command).argument("<node...>", "the nodes that get a new key"),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  return each(
    command.args,
    (node) => rotateKey(client, node),
    () => "has a new key",
  );
}
