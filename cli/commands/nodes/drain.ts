import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { drainNode, getNode } from "../../../sdk/nodes.ts";
import type { Client } from "../../../sdk/client.ts";
import { chosenNodes, withSelector } from "../../chosen-nodes.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { each } from "../../each.ts";
import { exitCodes } from "../../exit-code.ts";
import { nodeText } from "../../node-text.ts";
import { duration } from "../../options.ts";
import { Failed, type Verb } from "../../verb.ts";
import { say } from "../../write.ts";

type DrainOptions = { selector?: string; reason: string; deadline?: number; wait?: boolean };

const lookEveryMs = 500;

const help = `
Examples:
  drover nodes drain web-1 --reason "new disk"                     wait for ever for what runs there
  drover nodes drain -l zone=a --reason move --deadline 10m --wait   stop what still runs after 10 minutes
  drover nodes resume web-1`;

export const verb: Verb = {
  define: (command) =>
    withSelector(withConnection(command))
      .argument("[node...]", "the nodes to drain")
      .requiredOption("--reason <text>", "why; shown to whoever wants to start something there")
      .option("--deadline <duration>", "stop what still lives after this time (else never)", duration)
      .option("--wait", "return when nothing lives there any more")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const { selector, reason, deadline, wait } = command.opts<DrainOptions>();
  const client = await connect(command);
  const nodes = await chosenNodes(client, command.args, selector);
  const drain = { reason, ...(deadline === undefined ? {} : { deadlineMs: deadline }) };
  const code = await each(nodes, (node) => drainNode(client, node, drain), nodeText);
  if (!wait || code !== exitCodes.ok) return code;
  for (const node of nodes) await untilEmpty(client, node);
  return exitCodes.ok;
}

async function untilEmpty(client: Client, node: string): Promise<void> {
  for (;;) {
    const { running, draining } = valueOf(await getNode(client, node));
    if (draining === undefined) throw new Failed(`${node} was resumed meanwhile`, exitCodes.drover);
    if (running === 0) break;
    await delay(lookEveryMs);
  }
  await say(`${node} drained`);
}
