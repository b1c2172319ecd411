import type { Command } from "commander";
import type { NodeView } from "#shared/api/node.ts";
import type { Client } from "../sdk/client.ts";
import { exitCodes } from "./exit-code.ts";
import { listAll } from "./list-all.ts";
import { Failed, UsageError } from "./verb.ts";

/** The option by which a verb is about all nodes that match. */
export const withSelector = (command: Command): Command =>
  command.option(
    "-l, --selector <selector>",
    "all nodes that match, such as env=prod or web-*, or * for all",
  );

/** The names of the nodes that a call is about: those given, or those that its selector matches. */
export async function chosenNodes(
  client: Client,
  named: string[],
  selector: string | undefined,
): Promise<string[]> {
  if (named.length > 0 === (selector !== undefined))
    throw new UsageError("say which nodes: by their names, or by a selector with -l");
  if (selector === undefined) return named;
  const nodes = await listAll<NodeView>(client, "/v1/nodes", { selector });
  if (nodes.length === 0) throw new Failed(`no node matches ${selector}`, exitCodes.drover);
  return nodes.map((node) => node.name).toSorted();
}
