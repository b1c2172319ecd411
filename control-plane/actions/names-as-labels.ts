import { bareKeys, type Selectable, type Selector } from "#shared/selector.ts";

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
