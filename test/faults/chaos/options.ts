import { parseArgs } from "node:util";

export type ChaosOptions = {
  /** Repeats faults and load; what they meet still depends on the machine. */
  seed: number;
  stormMs: number;
  /** How long everything may take to come to its end once all is healed. */
  settleMs: number;
  /** From one fault to the next, on average. */
  pauseMs: number;
  inFlight: number;
  controlPlanes: number;
  agents: number;
  /** One server for all control planes, or the one that a single control plane keeps itself. */
  database: "external" | "embedded";
  /** A folder for what the programs say; it stays. */
  logs: string | undefined;
};

export const usage = `npm run chaos -- [options]

  --minutes N         how long faults happen (1)
  --pause-ms N        from one fault to the next, on average (1500)
  --in-flight N       processes at any time (40)
  --control-planes N  on one database (1)
  --agents N          (2)
  --database KIND     external: a server of its own; embedded: the control plane's own (external)
  --seed N            repeats a run (DROVER_CHAOS_SEED; a new one if not given)
  --logs FOLDER       keeps what the programs say
`;

const flags = {
  minutes: { type: "string" },
  "pause-ms": { type: "string" },
  "in-flight": { type: "string" },
  "control-planes": { type: "string" },
  agents: { type: "string" },
  database: { type: "string" },
  seed: { type: "string" },
  logs: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** The options of the command line; undefined when help was asked for, an Error for a person when they are wrong. */
export function readOptions(argv: string[]): ChaosOptions | undefined {
  const { values } = parseArgs({ args: argv, options: flags, strict: true });
  if (values.help) return undefined;
  const database = values.database ?? "external";
  if (database !== "external" && database !== "embedded")
    throw new Error("--database must be external or embedded");
  const controlPlanes = count("--control-planes", values["control-planes"] ?? "1");
  if (database === "embedded" && controlPlanes > 1)
    throw new Error("--database embedded goes with one control plane only");
  return {
    seed: values.seed === undefined ? seedOfEnvironment() : count("--seed", values.seed),
    stormMs: positive("--minutes", values.minutes ?? "1") * 60_000,
    settleMs: 180_000,
    pauseMs: positive("--pause-ms", values["pause-ms"] ?? "1500"),
    inFlight: count("--in-flight", values["in-flight"] ?? "40"),
    controlPlanes,
    agents: count("--agents", values.agents ?? "2"),
    database,
    logs: values.logs,
  };
}

export const seedOfEnvironment = (): number =>
  count("DROVER_CHAOS_SEED", process.env["DROVER_CHAOS_SEED"] || String(1 + Math.floor(Math.random() * 1e9)));

function count(name: string, text: string): number {
  const number = positive(name, text);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} must be a whole number`);
  return number;
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && number < Infinity)) throw new Error(`${name} must be a number above 0`);
  return number;
}
