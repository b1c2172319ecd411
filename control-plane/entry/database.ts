import type { Log } from "../needs.ts";
import { startEmbeddedPostgres } from "../store/embedded/start.ts";
import { openPostgresStore } from "../store/postgres/open.ts";
import type { Store } from "../store/store.ts";
import { databaseAt } from "./database-socket.ts";
import { migrateAt } from "./migrate.ts";
import { SettingError, type Settings } from "./settings.ts";

/** The store of a control plane and the way to end it: the pool first, then the database if it is Drover's own. */
export type Database = { store: Store; close(): Promise<void> };

/** Opens the database of the settings and brings its schema up to date; an unreachable one is a SettingError. */
export const openDatabase = async (settings: Settings, log: Log): Promise<Database> => {
  if (settings.databaseUrl !== undefined) return openAt(settings.databaseUrl, log, async () => {});
  const embedded = await startEmbeddedPostgres({ dataDir: settings.dataDir, log });
  try {
    return await openAt(embedded.url, log, () => embedded.stop());
  } catch (error) {
    await embedded.stop();
    throw error;
  }
};

const openAt = async (url: string, log: Log, stop: () => Promise<void>): Promise<Database> => {
  const password = decodeURIComponent(new URL(url).password);
  if (password !== "") log.hide(password, "always");
  const applied = await migrateAt(url).catch((error: unknown) => {
    throw new SettingError(`the database cannot be used: ${reasonOf(error)} (see DATABASE_URL)`, {
      cause: error,
    });
  });
  if (applied.length > 0) log.info("database.migrated", { applied });
  const store = openPostgresStore(databaseAt(url));
  return {
    store,
    async close() {
      await store.close();
      await stop();
    },
  };
};

const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(reasonOf).join(", ");
  return error instanceof Error ? error.message || error.name : String(error);
};
