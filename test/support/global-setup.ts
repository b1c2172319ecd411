import type { TestProject } from "vitest/node";
import { temporaryPostgres } from "./postgres.ts";

/** One Postgres for the whole run; each test takes a database of its own with `testDatabase()`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // A run that is told to end still goes through its exit, where the server and its folder are removed.
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(143));
  const server = await temporaryPostgres();
  project.provide("postgresUrl", server.url);
  return () => server.stop();
}
