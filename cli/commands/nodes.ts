import type { Command } from "commander";
import type { NodeView } from "#shared/api/node.ts";
import { connect, withConnection } from "../connection.ts";
import { listAll } from "../list-all.ts";
import { labelsText, nodeColour, nodeText } from "../node-text.ts";
import { age, printJson, printTable, size, wantsJson, withShape, type Column } from "../print.ts";
import type { Verb } from "../verb.ts";

const help = `
Examples:
  drover nodes -l env=prod
  drover nodes drain web-1 --reason "new disk" --deadline 10m --wait
  drover nodes label web-1 env=prod spot-
  lease=$(drover nodes lease web-1 --reason "new kernel" --ttl 30m) && drover exec -n web-1 --lease "$lease" -- ./upgrade

The selector: env=prod, env!=prod, zone in (a,b), zone notin (a,b), name=web-1, name!=web-1, a name glob such as 'web-*',
'*' for all; a bare gpu or !gpu is a label that is there or not, never a name; a comma is "and".`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .option("-l, --selector <selector>", "only those that match, such as env=prod or web-*")
      .option("--status <status>", "only those that are online, unreachable or offline")
      .addHelpText("after", help),
  run,
  verbs: {
    show: { summary: "show one node", load: () => import("./nodes/show.ts") },
    drain: { summary: "take no new starts, and let what runs end", load: () => import("./nodes/drain.ts") },
    resume: { summary: "end a drain", load: () => import("./nodes/resume.ts") },
    lease: { summary: "have a node to oneself for maintenance", load: () => import("./nodes/lease.ts") },
    unlease: { summary: "end a lease", load: () => import("./nodes/unlease.ts") },
    label: { summary: "set and remove labels", load: () => import("./nodes/label.ts") },
    "rotate-key": {
      summary: "give a node that is online a new key",
      load: () => import("./nodes/rotate-key.ts"),
    },
    rm: { summary: "delete nodes: their keys are void at once", load: () => import("./nodes/rm.ts") },
  },
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
  { title: "STATUS", cell: nodeText, paint: nodeColour },
  { title: "RUNNING", cell: (node) => `${node.running}/${node.maxProcesses}` },
  { title: "CPU", cell: (node) => (node.load === null ? "-" : `${Math.round(node.load.cpu * 100)}%`) },
  { title: "MEMORY", cell: memory },
  { title: "OS", cell: (node) => [node.os, node.arch].filter((part) => part !== null).join("/") || "-" },
  { title: "SEEN", cell: (node) => age(node.lastSeenAt, now) },
  { title: "ID", cell: (node) => node.id },
  { title: "LABELS", cell: (node) => labelsText(node.labels) },
];

function memory(node: NodeView): string {
  const total = node.memBytes === null ? "-" : size(node.memBytes);
  return node.load === null ? total : `${size(node.load.memUsedBytes)}/${total}`;
}
