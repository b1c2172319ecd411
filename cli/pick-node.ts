import type { NodeView } from "#shared/api/node.ts";
import type { Client } from "../sdk/client.ts";
import { ask } from "./connection.ts";
import { UsageError } from "./verb.ts";

/** The node that is named, or the only one there is. */
export async function pickNode(client: Client, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const { data } = await ask<{ data: NodeView[] }>(client, "GET /v1/nodes", { query: { limit: 3 } });
  const [first, second] = data;
  if (first === undefined) throw new UsageError("there is no node yet: start one with `drover agent`");
  if (second !== undefined)
    throw new UsageError("there is more than one node: say which with -n NODE (`drover nodes` lists them)");
  return first.id;
}
