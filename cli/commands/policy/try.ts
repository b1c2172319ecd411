import type { Command } from "commander";
import { tryPolicy } from "../../../sdk/policy.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { exitCodes } from "../../exit-code.ts";
import { environment, limit } from "../../options.ts";
import { readPolicyFile } from "../../policy-file.ts";
import { printable, printJson, wantsJson, withShape } from "../../print.ts";
import type { Verb } from "../../verb.ts";
import { whatToRun } from "../../what-to-run.ts";
import { say } from "../../write.ts";

type TryOptions = {
  command?: string;
  cwd?: string;
  env?: Record<string, string>;
  shell?: string;
  user?: string;
  timeout?: number;
  policy?: string;
};

const help = `
Examples:
  drover policy try -c 'cd / && rm -rf *'
  drover policy try --cwd /srv/app -- ./deploy
  drover policy try --policy new.json -- docker ps     by a policy that is not set yet

Starts nothing. Ends with 0 where the start would be allowed and with 125 where it would be refused. The policy file of a node
is not asked.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .argument("[words...]", "the program and its arguments, after --")
      .passThroughOptions()
      .option("-c, --command <text>", "text for a shell, instead of words")
      .option("--cwd <folder>", "the folder to run it in, an absolute path")
      .option("-e, --env <name=value>", "set in its environment (repeatable)", environment)
      .option("--shell <shell>", "what runs the text of -c (sh)")
      .option("--user <user>", "as whom")
      .option("--timeout <duration>", "its time limit", limit)
      .option("--policy <file>", "judge by this instead of the policy that holds; - for stdin")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const { command: text, timeout, policy, ...rest } = command.opts<TryOptions>();
  const { cwd, env, shell, user } = rest;
  const start = { ...whatToRun(command.args, text), cwd, env, shell, user, timeoutMs: timeout };
  const body = policy === undefined ? start : { ...start, policy: await readPolicyFile(policy) };
  const verdict = valueOf(await tryPolicy(await connect(command), body));
  if (wantsJson(command)) await printJson(verdict);
  else if (verdict.allowed) await say("allowed");
  else await say(printable(`refused (${verdict.rule}): ${verdict.reason}`));
  return verdict.allowed ? exitCodes.ok : exitCodes.drover;
}
