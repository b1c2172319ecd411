import type { Command } from "commander";
import { followEvents, type FleetEvent } from "../../sdk/events.ts";
import { connect, withConnection } from "../connection.ts";
import { exitCodeOfFailure, exitCodes, signalNumber } from "../exit-code.ts";
import { wantsJson, withShape } from "../print.ts";
import { Failed, type Verb } from "../verb.ts";
import { say, tell } from "../write.ts";

const help = `
Goes on until it is interrupted. With -o json each line is one event, whose id --from takes.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .option("--from <id>", "go on behind this event; else with what happens from now on")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  const line = wantsJson(command) ? JSON.stringify : lineOf;
  for await (const event of followEvents(client, command.opts<{ from?: string }>())) {
    if (event.type === "failed") throw new Failed(event.failure.message, exitCodeOfFailure(event.failure));
    if (event.type === "interrupted") await tell(`drover: ${event.failure.message}; connecting again`);
    if (isTold(event) && (await say(line(event))) === "gone") return 128 + signalNumber("PIPE");
  }
  return exitCodes.ok;
}

type Told = Extract<FleetEvent, { at: string }>;

const isTold = (event: FleetEvent): event is Told => "at" in event;

/** When, what, which node, and whatever else there is to say. */
function lineOf({ at, type, nodeId, data: { name, ...rest } }: Told): string {
  const node = typeof name === "string" ? name : (nodeId ?? "-");
  return [at, type, node, ...(Object.keys(rest).length > 0 ? [JSON.stringify(rest)] : [])].join("  ");
}
