import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { databaseAt } from "../../../control-plane/entry/database-socket.ts";
import { migrate, migrationsPending } from "../../../control-plane/store/migrate.ts";
import { openConnection } from "../../../control-plane/store/postgres/client.ts";
import { embeddedMigrations } from "../../../drizzle/embed.ts";
import { migrations, type Migration } from "../../../drizzle/migrations.generated.ts";
import { eventually } from "../../support/eventually.ts";
import { urlOfDatabase } from "../../support/postgres.ts";
import { Proxy } from "../../support/proxy.ts";

const drizzle = join(import.meta.dirname, "../../../drizzle");
const step = (tag: string, sql: string): Migration => ({ tag, hash: `hash of ${sql}`, sql });
const one = step("0000_one", "create table one (n int)");
const two = step("0001_two", "create table two (n int)");
const three = step("0002_three", "create table three (n int)");

const admin = postgres(inject("postgresUrl"), { max: 1, onnotice: () => {} });
const made: string[] = [];

async function emptyDatabase(): Promise<string> {
  const name = `migrate_${process.pid}_${made.length}`;
  made.push(name);
  await admin.unsafe(`create database ${name}`);
  return urlOfDatabase(inject("postgresUrl"), name);
}

afterAll(async () => {
  for (const name of made) await admin.unsafe(`drop database ${name} with (force)`);
  await admin.end();
});

describe("the migrations", () => {
  it("are embedded as they stand in their files", () => {
    expect(readFileSync(join(drizzle, "migrations.generated.ts"), "utf8")).toBe(embeddedMigrations());
  });

  it("embed into the very text of the files, whatever characters that has", () => {
    for (const { tag, sql } of migrations)
      expect(sql).toBe(readFileSync(join(drizzle, "migrations", `${tag}.sql`), "utf8"));
  });
});

const pending = async (url: string, wanted?: Migration[]): Promise<string[]> => {
  const { sql } = openConnection(databaseAt(url));
  try {
    return await migrationsPending(sql, wanted);
  } finally {
    await sql.end();
  }
};

describe("migrate", () => {
  let url = "";
  beforeAll(async () => {
    url = await emptyDatabase();
  });

  it("applies all migrations once when many start at the same time", async () => {
    expect(await pending(url)).toEqual(migrations.map(({ tag }) => tag));
    const applied = await Promise.all([1, 2, 3, 4, 5, 6].map(() => migrate(databaseAt(url))));
    expect(applied.flat()).toEqual(migrations.map(({ tag }) => tag));
    expect(await pending(url)).toEqual([]);
  });

  it("applies an older migration that came in after a later one", async () => {
    const other = await emptyDatabase();
    expect(await migrate(databaseAt(other), [one, three])).toEqual([one.tag, three.tag]);
    expect(await pending(other, [one, two, three])).toEqual([two.tag]);
    expect(await migrate(databaseAt(other), [one, two, three])).toEqual([two.tag]);
  });

  it("applies nothing when one of several fails", async () => {
    const other = await emptyDatabase();
    await expect(migrate(databaseAt(other), [one, step("0001_bad", "create tabel two ()")])).rejects.toThrow(
      "syntax error",
    );
    expect(await pending(other, [one, two])).toEqual([one.tag, two.tag]);
  });

  it("refuses a migration whose text changed after it was applied, naming it", async () => {
    const other = await emptyDatabase();
    await migrate(databaseAt(other), [one]);
    await expect(migrate(databaseAt(other), [step(one.tag, "create table one (n bigint)")])).rejects.toThrow(
      one.tag,
    );
  });

  it("fails, and nothing more, when its connection breaks while it waits for another one", async () => {
    const url = new URL(await emptyDatabase());
    const proxy = await Proxy.to(Number(url.port));
    const other = postgres(url.href, { max: 1 });
    await other.begin(async (held) => {
      await held`select pg_advisory_xact_lock(4600187302)`;
      url.port = String(proxy.port);
      const migrating = migrate(databaseAt(url.href));
      const waits = async () =>
        (await held`select from pg_locks where locktype = 'advisory' and not granted`).length > 0;
      await eventually(waits);
      proxy.cut();
      await expect(migrating).rejects.toMatchObject({
        code: expect.stringMatching(/CLOSED|RESET/) as string,
      });
    });
    await other.end();
    await proxy.close();
  });

  it("says that the database can not be reached instead of waiting", async () => {
    const url = new URL(inject("postgresUrl"));
    url.port = "1";
    await expect(migrate(databaseAt(url.href))).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});
