import { invalid } from "#shared/errors.ts";
import { matchesSelector, parseSelector, type Selector } from "#shared/selector.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";
import { nodeStatus, type NodeStatus } from "./node-presence.ts";

export type NodeQuery = {
  selector?: string | undefined;
  status?: NodeStatus | undefined;
  limit: number;
  cursor?: string | undefined;
};

const pageSize = 200;

/** One page of the nodes that match, newest first; `more` says whether another one follows. */
export const listNodes = async (
  needs: Needs,
  query: NodeQuery,
): Promise<{ nodes: NodeRow[]; more: boolean }> => {
  const selector = query.selector === undefined ? undefined : selectorOf(query.selector);
  const found: NodeRow[] = [];
  let after = query.cursor;
  // Selector and presence are not in the rows, so pages of the store are filtered until one page of the answer is full.
  for (;;) {
    const rows = await needs.store.nodes.list({ limit: pageSize, after });
    found.push(...rows.filter((node) => wanted(needs, node, { selector, status: query.status })));
    if (found.length > query.limit) return { nodes: found.slice(0, query.limit), more: true };
    if (rows.length < pageSize) return { nodes: found, more: false };
    after = rows.at(-1)?.id;
  }
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
