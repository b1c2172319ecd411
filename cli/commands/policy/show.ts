import type { Command } from "commander";
import { getPolicy } from "../../../sdk/policy.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { printJson, wantsJson, withShape } from "../../print.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = { define: (command) => withShape(withConnection(command)), run: showPolicy };

/** Prints the policy as `set` takes it; with `-o json` also when it was given and which rules there are. */
export async function showPolicy(command: Command): Promise<number> {
  const view = valueOf(await getPolicy(await connect(command)));
  await printJson(wantsJson(command) ? view : view.policy);
  return 0;
}
