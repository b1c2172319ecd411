// The control plane on workerd as a program: a database in the data folder, the Worker on it, and an orderly end of both.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { databaseAt } from "../control-plane/entry/database-socket.ts";
import { startEmbeddedPostgres } from "../control-plane/store/embedded/start.ts";
import { migrate } from "../control-plane/store/migrate.ts";
import { harnessOf } from "../test/support/worker.ts";

const { DROVER_DATA_DIR: dataDir = "", DROVER_ADMIN_TOKEN: adminToken = "" } = process.env;
const database = await startEmbeddedPostgres({ dataDir, log: { info: () => {} } });
await migrate(databaseAt(database.url));
const secretKey = randomBytes(32).toString("base64");
const harness = harnessOf({ databaseUrl: database.url, adminToken, secretKey });
const { url } = await harness.listen();
console.log(`The Worker listens on ${url.href.replace(/\/$/, "")}`);
await once(process, "SIGTERM");
await harness.close();
await database.stop();
process.exit(0);
