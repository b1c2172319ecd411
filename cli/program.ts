import { Command, CommanderError } from "commander";
import { exitCodes } from "./exit-code.ts";
import { Failed, UsageError, type Verb } from "./verb.ts";
import { verbs } from "./verbs.ts";
import { version } from "./version.ts";
import { tell } from "./write.ts";

const help = `
Examples:
  drover up                        a control plane and an agent on this machine
  drover exec -- uname -a          run something there
  drover run -c 'make all'         start it and leave it running
  drover fanout 'web-*' -- uptime   run it on many nodes
  drover ps                        what is alive

\`drover help <verb>\` tells more of each.`;

/** Runs a verb and answers its exit code; what went wrong is one line on stderr. */
export async function runProgram(argv: string[]): Promise<number> {
  try {
    return await runVerb(argv);
  } catch (error) {
    return explain(error);
  }
}

async function runVerb(argv: string[]): Promise<number> {
  const program = topLevel();
  let code: number = exitCodes.ok;
  const called = argv.find((word) => !word.startsWith("-") && word !== "help");
  for (const [name, { summary, load }] of Object.entries(verbs)) {
    const command = program.command(name).description(summary).exitOverride();
    if (name !== called) continue;
    await attach(command, (await load()).verb, (ended) => void (code = ended));
  }
  await program.parseAsync(argv, { from: "user" });
  return code;
}

async function attach(command: Command, verb: Verb, end: (code: number) => void): Promise<void> {
  verb.define(command).action(async () => end(await verb.run(command)));
  for (const [name, { summary, load }] of Object.entries(verb.verbs ?? {}))
    await attach(command.command(name).description(summary), (await load()).verb, end);
}

const topLevel = (): Command =>
  new Command("drover")
    .description("Starts, follows and ends processes on a fleet of machines.")
    .version(version, "-V, --version")
    .enablePositionalOptions()
    .showHelpAfterError("(add --help for more)")
    .addHelpText("after", help)
    .exitOverride();

async function explain(error: unknown): Promise<number> {
  // Commander has said it already: its own help, or what is wrong with a word.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof UsageError) return complain(error.message, exitCodes.usage);
  if (error instanceof Failed) return complain(error.message, error.exitCode);
  return complain(error instanceof Error ? (error.stack ?? error.message) : String(error), exitCodes.drover);
}

async function complain(text: string, code: number): Promise<number> {
  await tell(`drover: ${text}`);
  return code;
}
