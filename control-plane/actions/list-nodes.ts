import { invalid } from "#shared/errors.ts";
import { matchesSelector, parseSelector, type Selector } from "#shared/selector.ts";
import type { Needs } from "../needs.ts";
import { allNodes } from "./all-nodes.ts";
import { requireLabels } from "./names-as-labels.ts";
import type { NodeRow } from "../store/store.ts";
import { nodeStatus, type NodeStatus } from "./node-presence.ts";

export type NodeQuery = {
  selector?: string | undefined;
  status?: NodeStatus | undefined;
  limit: number;
  cursor?: string | undefined;
};

/** One page of the nodes that match, newest first; `more` says whether another one follows. */
export const listNodes = async (
  needs: Needs,
  query: NodeQuery,
): Promise<{ nodes: NodeRow[]; more: boolean }> => {
  const selector = query.selector === undefined ? undefined : selectorOf(query.selector);
  if (selector !== undefined) await requireLabels(needs, selector);
  const nodes: NodeRow[] = [];
  // Selector and presence are not in the rows, so all nodes are gone through until one page of the answer is full.
  for await (const node of allNodes(needs, query.cursor)) {
    if (!wanted(needs, node, { selector, status: query.status })) continue;
    if (nodes.length === query.limit) return { nodes, more: true };
    nodes.push(node);
  }
  return { nodes, more: false };
};

const wanted = (
  needs: Needs,
  node: NodeRow,
  filter: { selector: Selector | undefined; status: NodeStatus | undefined },
): boolean =>
  (filter.selector === undefined || matchesSelector(filter.selector, node)) &&
  (filter.status === undefined || nodeStatus(needs, node) === filter.status);

/** The selector of this text; a bad one is `invalid_request`. */
export const selectorOf = (text: string): Selector => {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw invalid([{ path: "selector", message: parsed.error }]);
  return parsed.selector;
};
