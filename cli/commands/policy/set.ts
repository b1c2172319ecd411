import type { Command } from "commander";
import { setPolicy } from "../../../sdk/policy.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { readPolicyFile } from "../../policy-file.ts";
import { printJson } from "../../print.ts";
import type { Verb } from "../../verb.ts";

const help = `
Examples:
  drover policy show > policy.json
  drover policy set policy.json
  echo '{"refusePrograms":["docker"],"limits":{"timeoutMs":600000}}' | drover policy set -`;

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<file>", "the whole policy as JSON; - for stdin")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const [file = "-"] = command.args;
  const policy = await readPolicyFile(file);
  const { policy: set } = valueOf(await setPolicy(await connect(command), policy));
  await printJson(set);
  return 0;
}
