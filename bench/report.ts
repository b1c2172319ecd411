import { writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { verdict, type Result } from "./figure.ts";

type Machine = { node: string; cpus: number; cpu: string; loadBefore: number };

export const machine = (): Machine => ({
  node: process.versions.node,
  cpus: availableParallelism(),
  cpu: cpus()[0]?.model ?? "unknown",
  loadBefore: loadavg()[0] ?? 0,
});

export const heading = (facts: Machine): string =>
  `Node ${facts.node} on ${facts.cpus} x ${facts.cpu}, load ${facts.loadBefore.toFixed(1)} before the run`;

/** The results of one figure as lines for people. */
export const table = (name: string, results: Result[]): string =>
  [`\n${name}`, ...results.map(line)].join("\n");

const line = (result: Result): string =>
  `  ${result.name.padEnd(44)}${shown(result).padStart(12)}   ${goalText(result).padEnd(10)}${verdict(result) ?? ""}`.trimEnd();

const shown = ({ value, unit }: Result): string =>
  `${rounded(value)}${unit === "" || unit === "x" || unit === "%" ? unit : ` ${unit}`}`;

const rounded = (value: number): string =>
  Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);

const goalText = ({ goal }: Result): string =>
  goal === undefined ? "" : "atMost" in goal ? `<= ${goal.atMost}` : `>= ${goal.atLeast}`;

/** The results, with the machine they were taken on. */
export const writeJson = (file: string, facts: Machine, results: Record<string, Result[]>): Promise<void> => {
  const judged = Object.entries(results).map(([name, all]) => [
    name,
    all.map((result) => ({ ...result, verdict: verdict(result) })),
  ]);
  return writeFile(
    file,
    `${JSON.stringify({ machine: facts, figures: Object.fromEntries(judged) }, null, 2)}\n`,
  );
};
