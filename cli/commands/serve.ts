import type { Command } from "commander";
import { adminToken, isLoopback, saveLocalProfile, startHere, withSettings } from "../control-plane.ts";
import { countPresses, dieBy } from "../interrupts.ts";
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
  if (isLoopback(settings.host))
    await saveLocalProfile({ url: controlPlane.url, token: await adminToken(settings) });
  await say(`Drover listens on ${controlPlane.url}`);
  await presses.first;
  await controlPlane.close();
  presses.close();
  return 0;
}
