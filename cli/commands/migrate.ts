import type { Command } from "commander";
import { UsageError, type Verb } from "../verb.ts";
import { say } from "../write.ts";

export const verb: Verb = {
  define: (command) => command.option("--database-url <url>", "the Postgres to migrate (else DATABASE_URL)"),
  run,
};

async function run(command: Command): Promise<number> {
  const url = command.opts<{ databaseUrl?: string }>().databaseUrl || process.env["DATABASE_URL"];
  if (!url)
    throw new UsageError(
      "no database is given: set DATABASE_URL or --database-url (Drover's own migrates itself)",
    );
  // Its own small entry: migrating needs neither the app nor the link.
  // oxlint-disable-next-line no-restricted-imports
  const { migrateAt } = await import("../../control-plane/entry/migrate.ts");
  const applied = await migrateAt(url).catch((error: unknown) => {
    throw new UsageError(`the database could not be migrated: ${reason(error)}`);
  });
  await say(
    applied.length === 0 ? "Nothing to do: the database is up to date." : `Applied ${applied.join(", ")}.`,
  );
  return 0;
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
