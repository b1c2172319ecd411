import type { FanoutGroup, FanoutNodeView, FanoutView } from "#shared/api/fanout.ts";
import { fanoutNodeStatuses } from "#shared/fanout-state.ts";
import { size } from "../print.ts";

const mostNames = 8;
const mostLines = 10;
const mostGroups = 20;

/** What became of a fan-out: its counts, each different output once with the nodes that wrote it, and who did not run it. */
export const summaryOf = (view: FanoutView, unrun: FanoutNodeView[]): string =>
  [
    headOf(view),
    ...view.groups.slice(0, mostGroups).flatMap(groupText),
    ...(view.groupCount > mostGroups ? [`and ${view.groupCount - mostGroups} other outputs`] : []),
    ...unrunText(unrun),
  ].join("\n");

/** `fan_… failed (node_failures): 2 succeeded, 1 failed`. */
export const headOf = ({
  id,
  status,
  reason,
  counts,
}: Pick<FanoutView, "id" | "status" | "reason" | "counts">): string =>
  `${id} ${status}${reason === null ? "" : ` (${reason})`}: ${countsText(counts)}`;

export const countsText = (counts: FanoutView["counts"]): string =>
  fanoutNodeStatuses
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status.replace("_", " ")}`)
    .join(", ");

function groupText({ count, nodes, status, exitCode, text, truncated }: FanoutGroup): string[] {
  const how = exitCode === null ? status.replace("_", " ") : `exited ${exitCode}`;
  const lines = text.replace(/\n$/, "").split("\n");
  const more = lines.length - mostLines;
  return [
    `== ${namesText(nodes, count)}: ${how}${truncated === null ? "" : `, ${size(truncated.originalBytes)} of output`}`,
    ...(text === "" ? [] : lines.slice(0, mostLines).map((line) => `   ${line}`)),
    ...(more > 0 ? [`   … ${more} more lines`] : []),
  ];
}

const namesText = (nodes: string[], count: number): string => {
  const named = nodes.slice(0, mostNames).join(", ");
  const rest = count - Math.min(nodes.length, mostNames);
  return `${count} ${count === 1 ? "node" : "nodes"} (${named}${rest > 0 ? ` and ${rest} more` : ""})`;
};

const unrunText = (nodes: FanoutNodeView[]): string[] =>
  [...Map.groupBy(nodes, ({ status, reason }) => (reason === null ? status : `${status}, ${reason}`))].map(
    ([why, all]) =>
      `-- ${namesText(
        all.map(({ node }) => node),
        all.length,
      )}: ${why.replaceAll("_", " ")}`,
  );
