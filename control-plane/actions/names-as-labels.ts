import { invalid } from "#shared/errors.ts";
import { bareKeys, type Selectable, type Selector } from "#shared/selector.ts";
import type { Needs } from "../needs.ts";
import { allNodes } from "./all-nodes.ts";

/** Refuses such a selector; without a node of such a name nothing has to be read. */
export const requireLabels = async (needs: Needs, selector: Selector): Promise<void> => {
  const named = await Promise.all(bareKeys(selector).map((key) => needs.store.nodes.find(key)));
  if (!named.some((node) => node !== undefined)) return;
  const mistaken = namesAsLabels(selector);
  for await (const node of allNodes(needs)) mistaken.see(node);
  const message = mistaken.problem();
  if (message !== undefined) throw invalid([{ path: "selector", message }]);
};

type Mistaken = { see(node: Selectable): void; problem(): string | undefined };

/**
 * Finds names of nodes that a selector takes for labels: `!web-1` holds for every node without a label `web-1`, so for the node
 * web-1, too. Shown every node, it knows of a bare word that is a name and no label anywhere.
 */
export const namesAsLabels = (selector: Selector): Mistaken => {
  const suspects = new Set(bareKeys(selector));
  const names = new Set<string>();
  return {
    see({ name, labels }) {
      if (suspects.has(name)) names.add(name);
      for (const key of suspects) if (Object.hasOwn(labels, key)) suspects.delete(key);
    },
    problem() {
      const name = [...suspects].find((key) => names.has(key));
      return name && `"${name}" is the name of a node, not a label: write name=${name} (or name!=${name})`;
    },
  };
};
