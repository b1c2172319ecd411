import type { Command } from "commander";
import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";
import type { Client } from "../../sdk/client.ts";
import { ask, connect, withConnection } from "../connection.ts";
import { exitCodeOf, exitCodes } from "../exit-code.ts";
import { limit } from "../options.ts";
import { printJson, wantsJson, withShape } from "../print.ts";
import { endingText } from "../process-text.ts";
import type { Verb } from "../verb.ts";
import { say, tell } from "../write.ts";

/** One look; the next begins at once, so this bounds only how long a dead connection goes unseen. */
const lookMs = 60_000;

const help = `
Exit code: that of the process, as \`drover exec\` gives it; of several, the first that is not 0.
124 also when --timeout ran out first (the processes go on).`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .argument("<id...>", "the processes to wait for")
      .option("--timeout <duration>", "wait no longer than this", limit)
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const { timeout = Infinity } = command.opts<{ timeout?: number }>();
  const client = await connect(command);
  const deadline = performance.now() + timeout;
  const ended = await Promise.all(command.args.map((id) => untilFinal(client, id, deadline)));
  if (wantsJson(command)) await printJson(ended);
  else await say(ended.map((process) => `${process.id} ${endingText(process)}`).join("\n"));
  if (ended.every((process) => isFinal(process.status)))
    return ended.map(exitCodeOf).find((code) => code !== 0) ?? exitCodes.ok;
  await tell("drover: not all have ended in that time");
  return exitCodes.timedOut;
}

async function untilFinal(client: Client, id: string, deadline: number): Promise<ProcessView> {
  for (;;) {
    const waitMs = Math.ceil(Math.max(0, Math.min(lookMs, deadline - performance.now())));
    const process = await ask<ProcessView>(client, `GET /v1/processes/${encodeURIComponent(id)}`, {
      query: { waitMs },
      waitMs,
    });
    if (isFinal(process.status) || performance.now() >= deadline) return process;
  }
}
