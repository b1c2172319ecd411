import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProcessView } from "#shared/api/process.ts";
import type { Product } from "../../support/product.ts";

/** What is asked for twice and done once. */
export const repeats = (product: Product): void => {
  const body = (command: string, more: Record<string, unknown> = {}) => ({
    ...{ node: "n1", cwd: product.folder, command },
    ...more,
  });
  const post = (sent: object, headers: Record<string, string> = {}) =>
    product.api.api<ProcessView & { code: string }>("POST /v1/processes", {
      ...{ body: sent, headers, query: { waitMs: 30_000 } },
    });
  const cancel = (key: string) =>
    product.api.get<{ fenced: boolean; process: ProcessView | null }>("POST /v1/processes/cancel", {
      body: { node: "n1", key },
    });
  const lines = (name: string) => readFileSync(join(product.folder, name), "utf8").trim().split("\n");
  const mismatch = { status: 409, value: { code: "idempotency_mismatch" } };

  describe("a start with a key", () => {
    it("runs once however many ask at once, and is found by those who come later", async () => {
      const sent = body("echo run >>runs-key; exit 3", {
        key: "once",
        env: { A: "1" },
        stdin: { text: "in" },
      });
      const all = await Promise.all(Array.from({ length: 8 }, () => post(sent)));
      expect(all.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(all.filter(({ status }) => status === 200)).toHaveLength(7);
      expect(new Set(all.map(({ value }) => value.id)).size).toBe(1);
      expect(await post(sent)).toMatchObject({ status: 200, value: { attached: true, exitCode: 3 } });
      expect(lines("runs-key")).toEqual(["run"]);
      for (const change of [{ command: "false" }, { env: {} }, { stdin: { text: "other" } }])
        expect(await post({ ...sent, ...change })).toMatchObject(mismatch);
    });

    it("is fenced by a cancel that comes first, and stopped by one that comes later", async () => {
      expect(await cancel("fenced")).toEqual({ fenced: true, process: null });
      expect(await post(body("echo run >>runs-fenced", { key: "fenced" }))).toMatchObject({
        status: 409,
        value: { code: "start_canceled" },
      });
      expect(existsSync(join(product.folder, "runs-fenced"))).toBe(false);
      const { id } = await product.api.start(body("echo up; sleep 600", { key: "stopped" }));
      await product.api.printed(id, "up");
      expect(await cancel("stopped")).toMatchObject({
        fenced: false,
        process: { id, status: "killed", reason: "stopped", survivors: [] },
      });
    });
  });

  describe("a request with an Idempotency-Key", () => {
    it("makes one thing however many ask at once, and says to the others that it is the same", async () => {
      const headers = { "idempotency-key": "i" };
      const all = await Promise.all(
        Array.from({ length: 8 }, () => post(body("echo run >>runs-header; exit 4"), headers)),
      );
      expect(new Set(all.map(({ value }) => value.id)).size).toBe(1);
      expect(all.every(({ status, value }) => status === 201 && value.exitCode === 4)).toBe(true);
      expect(all.filter((each) => each.headers.get("idempotent-replayed") !== "true")).toHaveLength(1);
      expect(lines("runs-header")).toEqual(["run"]);
      expect(await post(body("other"), headers)).toMatchObject(mismatch);
    });

    it("is free again when it was refused, and must be one", async () => {
      const headers = { "idempotency-key": "refused" };
      expect((await post(body("rm -rf /"), headers)).status).toBe(422);
      expect((await post(body("true"), headers)).status).toBe(201);
      expect(await post(body("true"), { "idempotency-key": "x".repeat(256) })).toMatchObject({ status: 400 });
    });
  });
};
