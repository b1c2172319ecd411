import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseAt } from "../../../../control-plane/entry/database-socket.ts";
import { handOuts } from "../../../../control-plane/store/postgres/hand-outs.ts";
import { openPool, type Pool } from "../../../../control-plane/store/postgres/pool.ts";
import { openPostgresStore } from "../../../../control-plane/store/postgres/open.ts";
import type { Store } from "../../../../control-plane/store/store.ts";
import { enrolledNode, inserted, newSession } from "../../../contract/store-samples.ts";
import { eventually } from "../../../support/eventually.ts";
import { testDatabase, type TestDatabase } from "../../../support/postgres.ts";

describe("what a session takes in hand at the moment when a newer one begins", () => {
  let database: TestDatabase;
  let sql: Pool;
  let store: Store;
  beforeAll(async () => {
    database = await testDatabase();
    sql = openPool({ ...databaseAt(database.url), poolSize: 2 });
    store = openPostgresStore({ ...databaseAt(database.url), poolSize: 2 });
  });
  afterAll(async () => {
    await Promise.all([sql.end({ timeout: 5 }), store.close()]);
    await database.drop();
  });

  it("is taken before that one looks at the rows", async () => {
    const { id: nodeId } = await enrolledNode(store);
    await store.nodes.connected(nodeId, newSession);
    const row = await inserted(store, { nodeId });
    const locked = () =>
      sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    let found: Promise<{ handOut: number }[]> = Promise.resolve([]);
    await sql.begin(async (transaction) => {
      const taken = await handOuts(transaction).takeMissing({ nodeId, epoch: 1 }, [row.id]);
      expect(taken).toMatchObject([{ handOut: 1 }]);
      found = store.nodes.connected(nodeId, newSession).then(() => store.processes.unfinished(nodeId));
      await eventually(async () => (await locked()).length > 0);
    });
    expect(await found).toMatchObject([{ id: row.id, handOut: 1 }]);
  });
});
