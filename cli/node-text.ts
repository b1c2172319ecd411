import type { NodeView } from "#shared/api/node.ts";
import type { Paint } from "./print.ts";

/** A node's state with what keeps starts off it: `online`, `online draining`, `offline draining leased`. */
export const nodeText = ({ status, draining, lease }: NodeView): string =>
  [status, draining && "draining", lease && "leased"].filter((part) => part !== undefined).join(" ");

const colours: Record<NodeView["status"], Paint> = { online: "green", unreachable: "yellow", offline: "red" };

export const nodeColour = (node: NodeView): Paint =>
  node.status === "online" && (node.draining ?? node.lease) ? "yellow" : colours[node.status];

export const labelsText = (labels: Record<string, string>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
