import type { Command } from "commander";
import { createSignInLink } from "../../sdk/sessions.ts";
import { connect, valueOf, withConnection } from "../connection.ts";
import { printJson, wantsJson, withShape } from "../print.ts";
import type { Verb } from "../verb.ts";
import { say } from "../write.ts";

const help = `
Example:
  drover login --link    # open what it prints in a browser: good once, for 10 minutes

Whoever opens it may do what your token may, until they sign out or the token is revoked.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .requiredOption("--link", "print a link that signs one browser in as your token")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const link = valueOf(await createSignInLink(await connect(command)));
  if (wantsJson(command)) await printJson(link);
  else await say(link.url);
  return 0;
}
