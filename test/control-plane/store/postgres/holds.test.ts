import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseAt } from "../../../../control-plane/entry/database-socket.ts";
import { openPool, type Pool } from "../../../../control-plane/store/postgres/pool.ts";
import { handOuts } from "../../../../control-plane/store/postgres/hand-outs.ts";
import { maintenance } from "../../../../control-plane/store/postgres/maintenance.ts";
import { openPostgresStore } from "../../../../control-plane/store/postgres/open.ts";
import { starts } from "../../../../control-plane/store/postgres/starts.ts";
import type { Store } from "../../../../control-plane/store/store.ts";
import { after, enrolledNode, inserted, newProcess, noon } from "../../../contract/store-samples.ts";
import { eventually } from "../../../support/eventually.ts";
import { testDatabase, type TestDatabase } from "../../../support/postgres.ts";

describe("a drain or a lease, and starts that are on their way in at that moment", () => {
  let database: TestDatabase;
  let sql: Pool;
  let store: Store;
  beforeAll(async () => {
    database = await testDatabase();
    sql = openPool({ ...databaseAt(database.url), poolSize: 4 });
    store = openPostgresStore({ ...databaseAt(database.url), poolSize: 2 });
  });
  afterAll(async () => {
    await Promise.all([sql.end({ timeout: 5 }), store.close()]);
    await database.drop();
  });

  const drain = { reason: "r", deadlineAt: null };
  const lease = { leaseId: "lease_1", heldId: undefined, reason: "r", now: noon, expiresAt: after(1000) };
  const waiting = () => eventually(async () => (await locked()) > 0);
  const locked = async () =>
    (await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      .length;

  it.each(["starting", "queued"] as const)(
    "a drain returns only when a start before it is stored, or handed out (%s)",
    async (status) => {
      const { id: nodeId } = await enrolledNode(store);
      await inserted(store, { nodeId, status: "queued" });
      const order: string[] = [];
      let drained = Promise.resolve();
      await sql.begin(async (transaction) => {
        if (status === "starting") await starts(transaction).insert(newProcess({ nodeId }));
        else await handOuts(transaction).takeQueued(nodeId, 1, noon);
        drained = store.nodes.setDrain(nodeId, drain).then(() => void order.push("drained"));
        await waiting();
        order.push("stored");
      });
      await drained;
      expect(order).toEqual(["stored", "drained"]);
    },
  );

  it.each(["drain", "lease"] as const)("a start that comes during a %s sees it", async (what) => {
    const { id: nodeId } = await enrolledNode(store);
    await inserted(store, { nodeId, status: "queued" });
    const later: Promise<unknown>[] = [];
    await sql.begin(async (transaction) => {
      if (what === "drain") await maintenance(transaction).setDrain(nodeId, drain);
      else await maintenance(transaction).lease(nodeId, lease);
      later.push(store.processes.insert(newProcess({ nodeId })), store.processes.takeQueued(nodeId, 1, noon));
      await eventually(async () => (await locked()) === 2);
    });
    expect(await Promise.all(later)).toMatchObject([{ outcome: "held", hold: { by: what } }, []]);
  });
});
