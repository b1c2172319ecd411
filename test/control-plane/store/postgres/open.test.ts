import postgres, { type Sql } from "postgres";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { databaseAt } from "../../../../control-plane/entry/database-socket.ts";
import { openPostgresStore } from "../../../../control-plane/store/postgres/open.ts";
import type { Store } from "../../../../control-plane/store/store.ts";
import { enrolledNode, inserted } from "../../../contract/store-samples.ts";
import { eventually } from "../../../support/eventually.ts";
import { testDatabase, urlOfDatabase, type TestDatabase } from "../../../support/postgres.ts";

describe("a store on Postgres", () => {
  let database: TestDatabase;
  let store: Store;
  let observer: Sql;

  beforeAll(async () => {
    database = await testDatabase();
    store = openPostgresStore({ ...databaseAt(database.url), poolSize: 2 });
    observer = postgres(database.url, { max: 1, onnotice: () => {} });
  });

  afterAll(async () => {
    await store.close();
    await observer.end();
    await database.drop();
  });

  it("keeps JSON as objects and arrays, never as text", async () => {
    const node = await enrolledNode(store, { labels: { v: "10.5" }, facts: { os: "linux" } });
    await inserted(store, { nodeId: node.id, labels: { v: "10.5" } });
    const types = await observer`
      select jsonb_typeof(p.launch) launch, jsonb_typeof(p.labels) labels, jsonb_typeof(p.survivors) survivors,
        jsonb_typeof(p.labels->'v') label, jsonb_typeof(n.facts) facts, jsonb_typeof(n.labels) node_labels
      from processes p join nodes n on n.id = p.node_id`;
    expect(types).toEqual([
      {
        launch: "object",
        labels: "object",
        survivors: "array",
        label: "string",
        facts: "object",
        node_labels: "object",
      },
    ]);
  });

  it("survives the loss of its connections: a repeat works, and a call in between says unavailable", async () => {
    expect(await store.nodes.find("nobody")).toBeUndefined();
    const connections = () => observer`
      select pid from pg_stat_activity where application_name = 'drover' and datname = current_database()`;
    const lost = await connections();
    expect(lost.length).toBeGreaterThan(0);
    for (const { pid } of lost) await observer`select pg_terminate_backend(${pid})`;
    await eventually(async () => (await connections()).length === 0);
    // Each of the lost connections may fail one call before its end is heard.
    for (let calls = 0; calls < lost.length; calls++)
      await store.nodes
        .find("nobody")
        .catch((error: unknown) => expect(error).toMatchObject({ code: "unavailable" }));
    expect(await store.nodes.find("nobody")).toBeUndefined();
  });

  it("says unavailable when nothing listens, and is not ready then", async () => {
    const url = new URL(database.url);
    url.port = "1";
    const away = openPostgresStore(databaseAt(url.href));
    await expect(away.nodes.find("x")).rejects.toMatchObject({ code: "unavailable" });
    expect(await away.ready()).toMatchObject({ ready: false });
    await away.close();
  });

  it("is not ready on a database without its schema, and says what to do", async () => {
    const bare = openPostgresStore(databaseAt(urlOfDatabase(inject("postgresUrl"), "postgres")));
    expect(await bare.ready()).toEqual({ ready: false, reason: expect.stringContaining("drover migrate") });
    await bare.close();
  });

  it("refuses an empty url instead of trying localhost", () => {
    expect(() => openPostgresStore(databaseAt(""))).toThrow("empty");
  });

  it("finds the unfinished rows of a node by the index made for them", async () => {
    await observer`analyze processes`;
    const plan = await observer.begin(async (transaction) => {
      await transaction`set local enable_seqscan = off`;
      return transaction`
        explain select id from processes
        where node_id = 'node_a' and (concluded_at is null or survivors <> '[]'::jsonb) order by id`;
    });
    expect(JSON.stringify(plan)).toContain("processes_unfinished");
  });
});
