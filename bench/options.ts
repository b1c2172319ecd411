import { parseArgs } from "node:util";

export const figureNames = [
  "exec",
  "rate",
  "producer",
  "follow",
  "start",
  "ready",
  "hop",
  "cli",
  "guard",
  "soak",
  "fleet",
] as const;
export type FigureName = (typeof figureNames)[number];

export type Options = {
  only: FigureName[];
  /** Where the results go as JSON, beside the table. */
  json: string | undefined;
  /** A folder for CPU profiles of the control plane and the agent. */
  profile: string | undefined;
  /** How much of each figure's work is done, 0…1; below 1 the figures are rough. */
  scale: number;
  /** How many agents the fleet simulates. */
  agents: number;
};

const defaultAgents = 2000;
const maxAgents = 25_000;

export const usage = `npm run bench -- [options]

  --only NAMES      which figures, joined by commas: ${figureNames.join(", ")} (all)
  --json FILE       write the results as JSON too
  --profile FOLDER  write CPU profiles of the control plane and the agent
  --scale PART      do only this part of the work, such as 0.1: quick and rough
  --agents N        how many agents the fleet simulates (${defaultAgents})
`;

/** The options of the command line; undefined when help was asked for, an Error for a person when they are wrong. */
export function readOptions(argv: string[]): Options | undefined {
  const { values } = parseArgs({ args: argv, options: flags, strict: true });
  if (values.help) return undefined;
  const only = (values.only ?? figureNames.join(",")).split(",").map((word) => word.trim());
  const scale = Number(values.scale ?? "1");
  if (!(scale > 0 && scale <= 1)) throw new Error("--scale must be above 0 and at most 1");
  const agents = Number(values.agents ?? defaultAgents);
  if (!(Number.isInteger(agents) && agents > 0 && agents <= maxAgents))
    throw new Error(`--agents must be a whole number from 1 to ${maxAgents}`);
  return { only: only.map(figureName), json: values.json, profile: values.profile, scale, agents };
}

const flags = {
  only: { type: "string" },
  json: { type: "string" },
  profile: { type: "string" },
  scale: { type: "string" },
  agents: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

function figureName(word: string): FigureName {
  const name = figureNames.find((known) => known === word);
  if (name === undefined) throw new Error(`--only: ${word} is none of ${figureNames.join(", ")}`);
  return name;
}
