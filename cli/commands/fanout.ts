import type { Command } from "commander";
import { connect, withConnection } from "../connection.ts";
import { runFanout } from "../fanout/attend.ts";
import { managing } from "../fanout/manage.ts";
import { fanoutBody, refuseLease, withOrder, type FanoutOptions } from "../fanout/options.ts";
import { withProcess } from "../launch-options.ts";
import { wantsJson, withShape } from "../print.ts";
import { UsageError, type Verb } from "../verb.ts";

const help = `
Examples:
  drover fanout 'web-*' -- uptime
  drover fanout env=prod --parallel 25% --canary 1 --max-failures 2 -c 'systemctl restart app'
  drover fanout '*' --queue --expires 1h --detach -- ./upgrade.sh

  drover fanout ls                  the last ones
  drover fanout show ID             what became of it; each different output once
  drover fanout pause|resume ID     start on no more nodes; go on, also after failures
  drover fanout cancel ID           start nothing more, stop what runs
  drover fanout retry ID            again, on every node where it did not succeed

The selector: env=prod, env!=prod, zone in (a,b), zone notin (a,b), name=web-1, name!=web-1, a name glob such as 'web-*',
'*' for all; a bare gpu or !gpu is a label that is there or not, never a name; a comma is "and".

One that pauses itself (max failures, canary) keeps the command waiting until it is resumed or canceled; --detach does not wait.
Ctrl-C cancels it, a second one leaves it running.

Exit code: 0 when every node succeeded, else 1; 125 Drover could not; 2 wrong call.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(withOrder(withProcess(command))))
      .argument("[selector]", "which nodes, such as env=prod or 'web-*'; all are '*'")
      .argument("[words...]", "the program and its arguments, after --")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const options = command.opts<FanoutOptions>();
  refuseLease(options);
  const manage = options.command === undefined ? managing(command.args) : undefined;
  if (manage !== undefined) return manage(await connect(command), command);
  const [selector, ...words] = command.args;
  if (selector === undefined) throw new UsageError("which nodes? write a selector first; all are '*'");
  const body = fanoutBody(selector, words, options);
  const manner = { detach: options.detach === true, json: wantsJson(command) };
  return runFanout(await connect(command), body, manner);
}
