import { type Command, InvalidArgumentError } from "commander";
import { roles, type Role, type TokenScope } from "#shared/api/token.ts";
import { createToken } from "../../../sdk/tokens.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { limit } from "../../options.ts";
import { printJson, wantsJson, withShape } from "../../print.ts";
import type { Verb } from "../../verb.ts";
import { say } from "../../write.ts";

type Options = { role: Role; selector?: string; chat?: string; task?: string[]; ttl?: number };

const help = `
Examples:
  drover token create ci --role operator -l env=ci --ttl 90d
  DROVER_TOKEN=$(drover token create "to look" --role viewer) drover ps

Prints the token, this once: only its digest is kept. It may do no more and lasts no longer than the token that makes it.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .argument("<name>", "whose it is or what it is for")
      .requiredOption("--role <role>", "viewer (reads), operator (also runs) or admin (also rules)", role)
      .option("-l, --selector <selector>", "only for nodes that match, such as env=prod or web-*")
      .option("--chat <id>", "only for this chat and what belongs to it")
      .option("--task <id>", "only for this task and its runs (repeatable)", several)
      .option("--ttl <duration>", "how long it is good, such as 12h or 90d; else until it is revoked", limit)
      .addHelpText("after", help),
  run,
};

function role(text: string): Role {
  const known = roles.find((each) => each === text);
  if (known === undefined) throw new InvalidArgumentError(`Give one of ${roles.join(", ")}.`);
  return known;
}

const several = (id: string, before: string[] = []): string[] => [...before, id];

async function run(command: Command): Promise<number> {
  const { role, ttl, ...bounds } = command.opts<Options>();
  const [name = ""] = command.args;
  const expiresAt = ttl === undefined ? undefined : new Date(Date.now() + ttl).toISOString();
  const token = { name, role, scope: scopeOf(bounds), expiresAt };
  const made = valueOf(await createToken(await connect(command), token));
  if (wantsJson(command)) await printJson(made);
  else await say(made.token ?? "");
  return 0;
}

const scopeOf = ({ selector, chat, task }: Pick<Options, "selector" | "chat" | "task">): TokenScope => ({
  ...(selector === undefined ? {} : { selector }),
  ...(chat === undefined ? {} : { chatId: chat }),
  ...(task === undefined ? {} : { tasks: task }),
});
