import type { Command } from "commander";
import { adminToken, isLoopback, saveLocalProfile, startHere, withSettings } from "../control-plane.ts";
import { countPresses, dieBy } from "../interrupts.ts";
import { signInLink } from "../sign-in-link.ts";
import type { Verb } from "../verb.ts";
import { say } from "../write.ts";

const help = `
SIGTERM or Ctrl-C stops it in order; processes on the nodes go on. A second one ends it at once.`;

export const verb: Verb = {
  define: (command) =>
    withSettings(
      command.option("--host <host>", "on which address to listen (else DROVER_HOST, else 127.0.0.1)"),
    ).addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const presses = countPresses();
  void presses.second.then(dieBy);
  const { controlPlane, settings } = await startHere(command.opts());
  const connection = { url: controlPlane.url, token: await adminToken(settings) };
  if (isLoopback(settings.host)) await saveLocalProfile(connection);
  await say(`Drover listens on ${controlPlane.url}`);
  // For whoever sits there: what is not a terminal is kept as a log, where no secret belongs.
  const link = process.stdout.isTTY ? await signInLink(connection) : undefined;
  if (link !== undefined) await say(`Sign in with ${link} (once, within 10 minutes)`);
  await presses.first;
  await controlPlane.close();
  presses.close();
  return 0;
}
