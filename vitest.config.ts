import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const globalSetup = join(import.meta.dirname, "test/support/global-setup.ts");

const groups = ["conformance", "contract", "e2e", "faults", "house"];

// One suite, once on each runtime of the control plane that there is.
const runtimes = (["node", "deno", "workerd"] as const).filter((name) =>
  existsSync(join(import.meta.dirname, `test/conformance/runtimes/${name}.ts`)),
);

// Groups of one order run side by side; those that watch real processes and cut real sockets have the machine alone.
const group = (name: string, order: number, exclude: string[] = []) => ({
  test: {
    name,
    include: [name === "unit" ? "test/**/*.test.ts" : `test/${name}/**/*.test.ts`],
    exclude,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A condition is waited for, however slow the machine; it is no measurement.
    expect: { poll: { timeout: 20_000 } },
    pool: "forks" as const,
    maxWorkers: 2,
    sequence: { groupOrder: order },
  },
});

const conformance = (runtime: (typeof runtimes)[number]) => {
  const { test } = group("conformance", 3);
  return { test: { ...test, name: `conformance-${runtime}`, provide: { runtime } } };
};

export default defineConfig({
  test: {
    passWithNoTests: true,
    silent: "passed-only",
    maxWorkers: 2,
    globalSetup: existsSync(globalSetup) ? [globalSetup] : [],
    projects: [
      group(
        "unit",
        0,
        groups.map((name) => `test/${name}/**`),
      ),
      group("contract", 0),
      group("house", 0),
      group("e2e", 1),
      group("faults", 2),
      ...runtimes.map(conformance),
    ],
  },
});
