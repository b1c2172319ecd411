import { migrate } from "../store/migrate.ts";
import { databaseAt } from "./database-socket.ts";

/** Brings the schema of the database at a URL up to date and returns the tags it applied. */
export const migrateAt = (url: string): Promise<string[]> => migrate(databaseAt(url));
