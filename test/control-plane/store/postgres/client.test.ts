import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { databaseAt } from "../../../../control-plane/entry/database-socket.ts";
import { openPool, type Pool } from "../../../../control-plane/store/postgres/pool.ts";
import { testDatabase, type TestDatabase } from "../../../support/postgres.ts";
import { Proxy } from "../../../support/proxy.ts";

let database: TestDatabase;
let proxy: Proxy;
let sql: Pool;
beforeAll(async () => {
  database = await testDatabase();
  proxy = await Proxy.to(Number(new URL(database.url).port));
});
beforeEach(() => {
  const url = new URL(database.url);
  url.port = String(proxy.port);
  sql = openPool({ ...databaseAt(url.href), poolSize: 1 });
});
afterEach(() => sql.end({ timeout: 0 }));
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

describe("a client of the database", () => {
  it("sends texts in arrays as they are, and none", async () => {
    const all = ["", "a,b", '"quoted"', "back\\slash", "{}", "NULL", " é\n𝄞 ", "$&"];
    const rows =
      await sql`select each from unnest(${all}::text[]) with ordinality as one (each, n) order by n`;
    expect(rows.map(({ each }) => each)).toEqual(all);
    expect(await sql`select 1 where 'a' = any(${[]}::text[])`).toHaveLength(0);
    expect(await sql`select 1 where 'a' = any(${["b", "a"]})`).toHaveLength(1);
  });

  it("asks a new connection nothing by itself: nobody could catch the failure of that", async () => {
    const asked: string[] = [];
    proxy.judge = (text, direction) => {
      if (direction === "up") asked.push(text);
      return "pass";
    };
    await sql`select 41 + 1`;
    proxy.judge = () => "pass";
    expect(asked.join("")).toContain("select 41 + 1");
    expect(asked.join("")).not.toContain("pg_type");
  });

  it("limits statements and locks, but begins without a parameter where a pooler would refuse it", async () => {
    const limits = async (pool: Pool) =>
      (
        await pool`select current_setting('statement_timeout') as statements, current_setting('lock_timeout') as locks`
      )[0];
    expect(await limits(sql)).toEqual({ statements: "30s", locks: "10s" });
    const pooled = openPool({ ...databaseAt(database.url), isPooled: true });
    expect(await limits(pooled)).toEqual({ statements: "0", locks: "0" });
    await pooled.end({ timeout: 0 });
  });
});
