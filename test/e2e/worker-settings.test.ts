import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Api, type Problem } from "../support/api.ts";
import { testDatabase, type TestDatabase } from "../support/postgres.ts";
import { Worker } from "../support/worker.ts";

const adminToken = `drva_${randomBytes(24).toString("base64url")}`;
const secretKey = randomBytes(32).toString("base64");
const assets = /There is no console here yet/;

describe("a Worker", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
    const sql = postgres(database.url, { max: 1, onnotice: () => {} });
    await sql`delete from drover_migrations where tag = (select max(tag) from drover_migrations)`;
    await sql.end();
  });
  afterAll(() => database.drop());

  it("on a database that is not migrated says what to run", async () => {
    const worker = await Worker.start({ databaseUrl: database.url, adminToken, secretKey, port: 0 });
    try {
      const api = new Api(worker.url, adminToken);
      expect((await api.api("GET /healthz")).status).toBe(200);
      const detail = expect.stringContaining("drover migrate");
      for (const path of ["/readyz", "/v1/nodes", "/v1/processes"])
        expect(await api.api(`GET ${path}`)).toMatchObject({
          status: 503,
          value: { code: "unavailable", detail },
        });
    } finally {
      await worker.kill();
    }
  });

  it("without its secrets says which is missing and how it is set, and still serves its page", async () => {
    const worker = await Worker.start({ databaseUrl: database.url, adminToken: "", secretKey, port: 0 });
    try {
      const api = new Api(worker.url, adminToken);
      const { status, value } = await api.api<Problem>("GET /v1/nodes");
      expect({ status, code: value.code }).toEqual({ status: 503, code: "unavailable" });
      expect(value.detail).toMatch(/DROVER_ADMIN_TOKEN is not set .*wrangler secret put DROVER_ADMIN_TOKEN/);
      expect(await (await api.fetch("GET /nodes/some")).text()).toMatch(assets);
    } finally {
      await worker.kill();
    }
  });
});
