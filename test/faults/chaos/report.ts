import type { ChaosOptions } from "./options.ts";
import { faultKinds } from "./schedule.ts";
import type { Outcome } from "./storm.ts";

type Row = [string, string | number];

export const heading = (options: ChaosOptions): string =>
  `chaos with seed ${options.seed} (DROVER_CHAOS_SEED=${options.seed} repeats it): ${options.stormMs / 1000} s, ${options.inFlight} in flight, ${options.controlPlanes} control plane(s), ${options.agents} agent(s), ${options.database} database`;

/** What happened, as a table for people. */
export function table({ verdict, faults, counts, settledMs }: Outcome): string {
  const found = (...kinds: string[]): number => kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0);
  const rows: Row[] = [
    ...faultKinds.map((kind): Row => [
      `fault: ${kind}`,
      `${faults[kind].done} (${faults[kind].skipped} skipped)`,
    ]),
    ["accepted", verdict.accepted],
    ["never answered", verdict.unanswered],
    ["ran", verdict.ran],
    ["exited right", verdict.right],
    ...[...verdict.otherwise].map(([name, count]): Row => [`ended ${name}`, count]),
    ["doubled", found("doubled")],
    ["wrong endings", found("wrong ending", "not final", "lost for no reason", "lost though it ran")],
    ["survivors", found("survivor")],
    ["bytes read", verdict.bytesRead],
    [
      "bytes followed",
      `${verdict.bytesFollowed} by ${verdict.followers}, ${verdict.interruptions} interruptions`,
    ],
    ["at rest after", `${(settledMs / 1000).toFixed(1)} s`],
    ...[...counts].map(([kind, count]): Row => [`FOUND: ${kind}`, count]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

const shown = 40;
/** What is wrong, one paragraph each. */
export const complaints = ({ problems }: Outcome): string =>
  problems
    .slice(0, shown)
    .map(({ kind, detail }) => `- ${kind}: ${detail}`)
    .join("\n");
