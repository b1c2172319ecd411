import type { NodeFacts } from "#shared/api/node.ts";
import type { Hello } from "#shared/link/frames.ts";
import { protocolVersion } from "#shared/link/limits.ts";
import { isFinal } from "#shared/process-state.ts";
import type { InventoryItem } from "../engine.ts";

/** Some 90 bytes each: the greeting stays below 4 MiB. */
const maxInventory = 40_000;

export type Greeting = {
  version: string;
  instanceId: string;
  machineId: string;
  bootId: string;
  facts: NodeFacts;
};

/**
 * The first frame. What is alive comes first, so that where there are more than one frame can hold, it is endings
 * that are missing: a control plane that misses one sends its start again, and hears of the ending by its report.
 */
export function helloOf(greeting: Greeting, items: InventoryItem[]): Hello {
  const ordered =
    items.length <= maxInventory
      ? items
      : [...items].sort((a, b) => Number(isFinal(a.status)) - Number(isFinal(b.status)));
  const inventory = ordered.slice(0, maxInventory);
  return {
    type: "hello",
    protocol: protocolVersion,
    ...greeting,
    wallAt: Date.now(),
    echoes: true,
    inventory,
  };
}
