import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { isatty } from "node:tty";
import type { Command } from "commander";
import { setSecret } from "../../../sdk/secrets.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { type Verb, UsageError } from "../../verb.ts";
import { say } from "../../write.ts";

const help = `
A last line break is left out. There is no way to give the value as a word: others could see it in the list of processes.`;

export const verb: Verb = {
  define: (command) =>
    withConnection(command)
      .argument("<name>", "the name of the secret")
      .argument("[file]", "the file that holds its value; - or none for stdin", "-")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const [name = "", file = "-"] = command.args;
  const value = (await read(file)).replace(/\r?\n$/, "");
  const { createdAt, updatedAt } = valueOf(await setSecret(await connect(command), { name, value }));
  await say(`${name}: ${createdAt === updatedAt ? "stored" : "replaced"}`);
  return 0;
}

async function read(file: string): Promise<string> {
  if (file === "-" && isatty(0)) throw new UsageError("give the value on stdin or in a file");
  try {
    return file === "-" ? await text(process.stdin) : await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
