import type { Command } from "commander";
import type { NodeView } from "#shared/api/node.ts";
import { connect, withConnection } from "../connection.ts";
import { listAll } from "../list-all.ts";
import { age, printJson, printTable, size, wantsJson, withShape, type Column, type Paint } from "../print.ts";
import type { Verb } from "../verb.ts";

const colours: Record<NodeView["status"], Paint> = { online: "green", unreachable: "yellow", offline: "red" };

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .option("-l, --selector <selector>", "only those that match, such as env=prod or web-*")
      .option("--status <status>", "only those that are online, unreachable or offline"),
  run,
};

async function run(command: Command): Promise<number> {
  const { selector, status } = command.opts<{ selector?: string; status?: string }>();
  const client = await connect(command);
  const nodes = await listAll<NodeView>(client, "/v1/nodes", { selector, status });
  if (wantsJson(command)) await printJson(nodes);
  else await printTable(columns(Date.now()), nodes);
  return 0;
}

const columns = (now: number): Column<NodeView>[] => [
  { title: "NAME", cell: (node) => node.name },
  { title: "STATUS", cell: (node) => node.status, paint: (node) => colours[node.status] },
  { title: "RUNNING", cell: (node) => `${node.running}/${node.maxProcesses}` },
  { title: "CPU", cell: (node) => (node.load === null ? "-" : `${Math.round(node.load.cpu * 100)}%`) },
  { title: "MEMORY", cell: memory },
  { title: "OS", cell: (node) => [node.os, node.arch].filter((part) => part !== null).join("/") || "-" },
  { title: "SEEN", cell: (node) => age(node.lastSeenAt, now) },
  { title: "ID", cell: (node) => node.id },
  {
    title: "LABELS",
    cell: (node) =>
      Object.entries(node.labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(","),
  },
];

function memory(node: NodeView): string {
  const total = node.memBytes === null ? "-" : size(node.memBytes);
  return node.load === null ? total : `${size(node.load.memUsedBytes)}/${total}`;
}
