import type { Command } from "commander";
import { deleteSecret } from "../../../sdk/secrets.ts";
import { connect, withConnection } from "../../connection.ts";
import { each } from "../../each.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = {
  define: (command) => withConnection(command).argument("<name...>", "the secrets to delete"),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  return each(
    command.args,
    (name) => deleteSecret(client, name),
    () => "deleted",
  );
}
