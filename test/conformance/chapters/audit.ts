import { describe, expect, it } from "vitest";
import type { AuditView } from "#shared/api/audit.ts";
import type { Product } from "../../support/product.ts";

/** Who did what. */
export const audit = (product: Product): void => {
  type Query = Record<string, string | number>;
  const entries = async (query: Query): Promise<AuditView[]> =>
    (await product.api.get<{ data: AuditView[] }>("GET /v1/audit", { query })).data;

  describe("the audit", () => {
    it("has a start and what was refused, with who asked and where it was", async () => {
      const run = await product.api.start({ node: "n1", command: "echo audited", env: { KEY: "not-in-it" } });
      const [entry] = await entries({ object: run.id });
      expect(entry).toMatchObject({
        ...{ operation: "startProcess", status: 201, code: null, input: { command: "echo audited" } },
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

    it("has the entry of a start whose client left without waiting for its answer", async () => {
      const command = "echo left && sleep 1";
      const leave = new AbortController();
      const asked = product.api
        .fetch("POST /v1/processes", {
          ...{ body: { node: "n1", command }, query: { waitMs: 60_000 } },
          signal: leave.signal,
        })
        .catch(() => {});
      await expect
        .poll(async () => (await product.api.get<{ data: { command: string }[] }>("GET /v1/processes")).data)
        .toContainEqual(expect.objectContaining({ command }));
      leave.abort();
      await asked;
      await expect
        .poll(async () => (await entries({ operation: "startProcess", limit: 1 }))[0]?.input["command"])
        .toBe(command);
    });
  });
};
