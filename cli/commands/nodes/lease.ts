import type { Command } from "commander";
import { leaseNode } from "../../../sdk/nodes.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { limit } from "../../options.ts";
import { printJson, wantsJson, withShape } from "../../print.ts";
import type { Verb } from "../../verb.ts";
import { say } from "../../write.ts";

const help = `
Examples:
  lease=$(drover nodes lease web-1 --reason "new kernel" --ttl 30m)
  drover exec -n web-1 --lease "$lease" -- ./upgrade
  drover nodes lease web-1 --reason "still at it" --ttl 30m --lease "$lease"
  drover nodes unlease web-1 --lease "$lease"

Prints the id of the lease. Until it is over the node takes only starts that name it; what runs there goes on.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .argument("<node>", "the node to have to oneself")
      .requiredOption("--reason <text>", "why; shown to whoever wants to start something there")
      .requiredOption("--ttl <duration>", "for how long, at most 30d", limit)
      .option("--lease <id>", "renew this lease")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const { reason, ttl, lease } = command.opts<{ reason: string; ttl: number; lease?: string }>();
  const client = await connect(command);
  const [node = ""] = command.args;
  const leased = valueOf(await leaseNode(client, node, { reason, ttlMs: ttl, heldId: lease }));
  if (wantsJson(command)) await printJson(leased);
  else await say(leased.leaseId);
  return 0;
}
