import type { TestProject } from "vitest/node";
import { temporaryPostgres } from "./postgres.ts";

/** One Postgres for the whole run; each test takes a database of its own with `testDatabase()`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await temporaryPostgres();
  project.provide("postgresUrl", server.url);
  return () => server.stop();
}
