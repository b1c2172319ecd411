import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseAt } from "../../control-plane/entry/database-socket.ts";
import { openPostgresStore } from "../../control-plane/store/postgres/open.ts";
import type { Store } from "../../control-plane/store/store.ts";
import { testDatabase, type TestDatabase } from "../support/postgres.ts";
import { consoleSessionsContract } from "./store-console-sessions.ts";
import { auditContract } from "./store-audit.ts";
import { eventsContract } from "./store-events.ts";
import { fanoutsContract } from "./store-fanouts.ts";
import { fanoutStepsContract } from "./store-fanout-steps.ts";
import { handOutsContract } from "./store-hand-outs.ts";
import { idempotencyContract } from "./store-idempotency.ts";
import { instancesContract } from "./store-instances.ts";
import { maintenanceContract } from "./store-maintenance.ts";
import { nodesContract } from "./store-nodes.ts";
import { policiesContract } from "./store-policies.ts";
import { presenceContract } from "./store-presence.ts";
import { reportsContract } from "./store-reports.ts";
import { sightContract } from "./store-sight.ts";
import { secretsContract } from "./store-secrets.ts";
import { startsContract } from "./store-starts.ts";
import { tokensContract } from "./store-tokens.ts";

describe("the Postgres store", () => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await testDatabase();
    store = openPostgresStore({ ...databaseAt(database.url), poolSize: 5 });
  });

  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  it("is ready on a current schema", async () => {
    expect(await store.ready()).toEqual({ ready: true });
  });

  startsContract(() => store);
  handOutsContract(() => store);
  reportsContract(() => store);
  nodesContract(() => store);
  presenceContract(() => store);
  eventsContract(
    () => store,
    () => database.url,
  );
  maintenanceContract(() => store);
  idempotencyContract(() => store);
  instancesContract(
    () => store,
    () => database.url,
  );
  fanoutsContract(() => store);
  fanoutStepsContract(() => store);
  policiesContract(() => store);
  tokensContract(() => store);
  sightContract(() => store);
  consoleSessionsContract(() => store);
  secretsContract(() => store);
  auditContract(
    () => store,
    () => database.url,
  );
});
