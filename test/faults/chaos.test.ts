import { afterAll, describe, expect, it } from "vitest";
import { seedOfEnvironment, type ChaosOptions } from "./chaos/options.ts";
import { complaints, heading, table } from "./chaos/report.ts";
import { storm } from "./chaos/storm.ts";

const options: ChaosOptions = {
  seed: seedOfEnvironment(),
  stormMs: 45_000,
  settleMs: 120_000,
  pauseMs: 1500,
  inFlight: 40,
  controlPlanes: 2,
  agents: 2,
  database: "external",
  logs: undefined,
};
const given = new AbortController();
// A run that is told to end takes the storm's programs with it.
afterAll(() => given.abort());

describe("random faults under load", () => {
  it("run every accepted start once, with its true ending and each of its bytes", async () => {
    console.log(heading(options));
    const outcome = await storm(options, given.signal);
    console.log(table(outcome));
    expect(outcome.verdict.accepted).toBeGreaterThan(0);
    expect(outcome.problems, `${complaints(outcome)}\n${heading(options)}`).toEqual([]);
  }, 240_000);
});
