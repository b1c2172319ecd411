// One storm by hand: prints what happened and ends with 1 where something was wrong.
import { mkdirSync } from "node:fs";
import { readOptions, usage, type ChaosOptions } from "./options.ts";
import { complaints, heading, table } from "./report.ts";
import { storm } from "./storm.ts";

const interrupted = new AbortController();

async function main(options: ChaosOptions): Promise<number> {
  if (options.logs !== undefined) mkdirSync(options.logs, { recursive: true });
  console.log(heading(options));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => interrupted.abort(signal));
  const outcome = await storm(options, interrupted.signal);
  console.log(table(outcome));
  if (outcome.problems.length === 0) return 0;
  console.error(`${complaints(outcome)}\n${heading(options)}`);
  return 1;
}

async function run(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options !== undefined) return await main(options);
    console.log(usage);
    return 0;
  } catch (error) {
    console.error(
      "chaos:",
      interrupted.signal.aborted ? `interrupted by ${interrupted.signal.reason}` : error,
    );
    return 1;
  }
}

// What a failed storm has left open must not keep the program alive.
process.exit(await run());
