// The control plane on workerd as a program: a database in the data folder, a pooler before it, the Worker on that, and an
// orderly end of all three.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { databaseAt } from "../control-plane/entry/database-socket.ts";
import { startEmbeddedPostgres } from "../control-plane/store/embedded/start.ts";
import { migrate } from "../control-plane/store/migrate.ts";
import { startPooler } from "./pooler.ts";
import { startWorkerd } from "./workerd.ts";

const { DROVER_DATA_DIR: dataDir = "", DROVER_ADMIN_TOKEN = "" } = process.env;
const database = await startEmbeddedPostgres({ dataDir, log: { info: () => {} } });
await migrate(databaseAt(database.url));
const pooler = await startPooler(database.url);
const folder = join(dataDir, "worker");
await mkdir(folder);
const worker = await startWorkerd({
  ...{ folder, databaseUrl: pooler.url },
  secrets: { DROVER_ADMIN_TOKEN, DROVER_SECRET_KEY: randomBytes(32).toString("base64") },
});
console.log(`The Worker listens on ${worker.url}`);
await once(process, "SIGTERM");
await worker.close();
await pooler.close();
await database.stop();
process.exit(0);
