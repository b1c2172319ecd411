import { describe, expect, it } from "vitest";
import type { AuditView } from "#shared/api/audit.ts";
import type { Product } from "../../support/product.ts";
import type { Runtime } from "../runtimes/runtime.ts";

/** Who did what. */
export const audit = (product: Product, runtime: Runtime): void => {
  type Query = Record<string, string | number>;
  const entries = async (query: Query): Promise<AuditView[]> =>
    (await product.api.get<{ data: AuditView[] }>("GET /v1/audit", { query })).data;

  describe("the audit", () => {
    it("has a start and what was refused, with who asked and where it was", async () => {
      const run = await product.api.start(
        { node: "n1", command: "echo audited", env: { KEY: "not-in-it" } },
        { "cf-connecting-ip": "192.0.2.9" },
      );
      const [entry] = await entries({ object: run.id });
      expect(entry).toMatchObject({
        ...{ operation: "startProcess", status: 201, code: null, input: { command: "echo audited" } },
        // Only Cloudflare sets that header for whoever asks.
        address: runtime.name === "workerd" ? "192.0.2.9" : "127.0.0.1",
        ...{ actor: { kind: "root" }, node: { id: run.nodeId, name: "n1" } },
      });
      expect(JSON.stringify(entry)).not.toContain("not-in-it");
      const refused = await product.api.api("POST /v1/processes", {
        body: { node: "n1", command: "reboot" },
      });
      expect(refused).toMatchObject({ status: 422 });
      expect(await entries({ result: "command_refused", limit: 1 })).toMatchObject([
        { node: { name: "n1" }, input: { command: "reboot" } },
      ]);
    });

    it("is exported as lines", async () => {
      const answer = await product.api.fetch("GET /v1/audit", { query: { format: "ndjson" } });
      const lines = (await answer.text()).trimEnd().split("\n");
      const exported = lines.map((line) => JSON.parse(line) as AuditView);
      expect(exported.length).toBeGreaterThan(1);
      expect(exported.map(({ id }) => id)).toEqual([...new Set(exported.map(({ id }) => id))]);
    });

    it("has the entries of starts whose clients left without waiting for their answers", async () => {
      const start = { node: "n1", command: "true", labels: { audit: "left" } };
      const began = performance.now();
      await product.api.start(start);
      const tookMs = performance.now() - began;
      // They leave at all moments of such a request.
      for (let n = 1; n <= 40; n++) {
        const signal = AbortSignal.timeout(Math.ceil((tookMs * n) / 40));
        await product.api.fetch("POST /v1/processes", { body: start, signal }).catch(() => {});
      }
      const missing = async (): Promise<string[]> => {
        const query = { label: "audit=left", limit: 200 };
        const { data } = await product.api.get<{ data: { id: string }[] }>("GET /v1/processes", { query });
        const all = await entries({ operation: "startProcess", limit: 200 });
        const told = new Set(all.map(({ object }) => object.id));
        return data.map(({ id }) => id).filter((id) => !told.has(id));
      };
      await expect.poll(missing, { timeout: 20_000 }).toEqual([]);
    });
  });
};
