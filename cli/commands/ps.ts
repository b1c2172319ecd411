import type { Command } from "commander";
import type { NodeView } from "#shared/api/node.ts";
import type { ProcessView } from "#shared/api/process.ts";
import { liveStatuses } from "#shared/process-state.ts";
import { connect, withConnection } from "../connection.ts";
import { listAll } from "../list-all.ts";
import { count, pair } from "../options.ts";
import { age, printJson, printTable, size, wantsJson, withShape, type Column } from "../print.ts";
import { commandText, endingText, statusColour } from "../process-text.ts";
import type { Verb } from "../verb.ts";

type PsOptions = {
  node?: string;
  status?: string;
  all?: boolean;
  label?: Record<string, string>;
  limit: number;
};

const help = `
Shows what is alive; -a what has ended, too.
  drover ps -n web-1
  drover ps --status timed_out,lost --label job=nightly -o json`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .option("-n, --node <node>", "only on this node")
      .option("--status <status,…>", "only in these states, such as running or exited,killed")
      .option("-a, --all", "also those that have ended")
      .option("--label <name=value>", "only with this label (repeatable)", pair)
      .option("--limit <n>", "at most this many, the newest", count, 200)
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const options = command.opts<PsOptions>();
  const client = await connect(command);
  const status = options.status ?? (options.all ? undefined : liveStatuses.join(","));
  const label = Object.entries(options.label ?? {}).map(([name, value]) => `${name}=${value}`);
  const query = { node: options.node, status, label };
  const processes = await listAll<ProcessView>(client, "/v1/processes", query, options.limit);
  if (wantsJson(command)) {
    await printJson(processes);
    return 0;
  }
  const nodes = await listAll<NodeView>(client, "/v1/nodes", {});
  const names = new Map(nodes.map((node) => [node.id, node.name]));
  await printTable(columns(names, Date.now()), processes);
  return 0;
}

const columns = (names: Map<string, string>, now: number): Column<ProcessView>[] => [
  { title: "ID", cell: (process) => process.id },
  { title: "NODE", cell: (process) => names.get(process.nodeId) ?? process.nodeId },
  { title: "STATUS", cell: (process) => endingText(process), paint: statusColour },
  { title: "AGE", cell: (process) => age(process.createdAt, now) },
  { title: "OUTPUT", cell: (process) => size(process.output.totalBytes) },
  { title: "COMMAND", cell: commandText },
];
