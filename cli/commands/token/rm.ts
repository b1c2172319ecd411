import type { Command } from "commander";
import { revokeToken } from "../../../sdk/tokens.ts";
import { connect, withConnection } from "../../connection.ts";
import { each } from "../../each.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<id...>", "the ids of the tokens, as `drover token ls` shows them")
      .addHelpText("after", "\nWhat waits or streams with a revoked token ends. What it started goes on."),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  return each(
    command.args,
    (id) => revokeToken(client, id),
    () => "revoked",
  );
}
