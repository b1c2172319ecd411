import type { Command } from "commander";
import type { NodeView } from "#shared/api/node.ts";
import { labelKeyProblem } from "#shared/labels.ts";
import type { Client } from "../../../sdk/client.ts";
import type { Answer } from "../../../sdk/failure.ts";
import { changeNode, getNode } from "../../../sdk/nodes.ts";
import { chosenNodes, withSelector } from "../../chosen-nodes.ts";
import { connect, withConnection } from "../../connection.ts";
import { each } from "../../each.ts";
import { labelsText } from "../../node-text.ts";
import { UsageError, type Verb } from "../../verb.ts";

const help = `
Examples:
  drover nodes label web-1 env=prod spot-     sets env, removes spot
  drover nodes label -l zone=a env=prod`;

export const verb: Verb = {
  define: (command) =>
    withSelector(withConnection(command))
      .argument("<words...>", "a node (unless there is -l), then name=value to set and name- to remove")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const { selector } = command.opts<{ selector?: string }>();
  const named = selector === undefined ? command.args.slice(0, 1) : [];
  const changes = command.args.slice(named.length).map(changeOf);
  if (changes.length === 0) throw new UsageError("say what to change: name=value to set, name- to remove");
  const client = await connect(command);
  const nodes = await chosenNodes(client, named, selector);
  return each(
    nodes,
    (node) => relabel(client, node, changes),
    ({ labels }) => labelsText(labels) || "-",
  );
}

/** A name and its value; null removes it. */
type Change = [name: string, value: string | null];

function changeOf(word: string): Change {
  const at = word.indexOf("=");
  const change: Change = at < 0 ? [word.slice(0, -1), null] : [word.slice(0, at), word.slice(at + 1)];
  if (at < 0 && !word.endsWith("-"))
    throw new UsageError(`"${word}" changes nothing: give name=value to set, name- to remove`);
  const problem = labelKeyProblem(change[0]);
  if (problem !== undefined) throw new UsageError(problem);
  return change;
}

async function relabel(client: Client, node: string, changes: Change[]): Promise<Answer<NodeView>> {
  const found = await getNode(client, node);
  if (!found.ok) return found;
  const labels = new Map(Object.entries(found.value.labels));
  for (const [name, value] of changes) {
    if (value === null) labels.delete(name);
    else labels.set(name, value);
  }
  return changeNode(client, found.value.id, { labels: Object.fromEntries(labels) });
}
