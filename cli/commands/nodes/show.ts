import type { Command } from "commander";
import type { NodeView } from "#shared/api/node.ts";
import { getNode } from "../../../sdk/nodes.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import { labelsText, nodeText } from "../../node-text.ts";
import { age, printable, printJson, size, wantsJson, withShape } from "../../print.ts";
import type { Verb } from "../../verb.ts";
import { say } from "../../write.ts";

export const verb: Verb = {
  define: (command) => withShape(withConnection(command)).argument("<node>", "its name or id"),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  const [name = ""] = command.args;
  const node = valueOf(await getNode(client, name));
  if (wantsJson(command)) await printJson(node);
  else await say(facts(node, Date.now()).map(line).join("\n"));
  return 0;
}

type Fact = [name: string, value: string | number | null | undefined];

const line = ([name, value]: Fact): string => `${`${name}:`.padEnd(12)}${printable(String(value ?? "-"))}`;

const facts = (node: NodeView, now: number): Fact[] => [
  ["name", node.name],
  ["id", node.id],
  ["status", nodeText(node)],
  ...maintenance(node),
  ["labels", labelsText(node.labels) || null],
  ["running", `${node.running} of ${node.maxProcesses}`],
  ["queued", node.queued],
  ["host", node.hostname],
  ["system", [node.os, node.arch].filter((part) => part !== null).join("/") || null],
  ["cpus", node.cpus],
  ["memory", node.memBytes === null ? null : size(node.memBytes)],
  ["enforces", node.enforces.join(",") || null],
  ["agent", node.version],
  ["seen", ago(node.lastSeenAt, now)],
  ["connected", ago(node.connectedAt, now)],
  ["created", ago(node.createdAt, now)],
];

const maintenance = ({ draining, lease }: NodeView): Fact[] => [
  ...(draining
    ? [["draining", `${draining.reason} (until ${draining.deadlineAt ?? "all has ended"})`] as Fact]
    : []),
  ...(lease ? [["leased", `${lease.reason} (until ${lease.expiresAt})`] as Fact] : []),
];

const ago = (at: string | null, now: number): string | null => (at === null ? null : `${age(at, now)} ago`);
