import { describe, expect, it } from "vitest";
import type { Product } from "../../support/product.ts";

/** What may be started: the guard, and the policy of the fleet. */
export const policy = (product: Product): void => {
  const put = (body: object) => product.api.get("PUT /v1/policy", { body });
  const start = (command: string) =>
    product.api.api("POST /v1/processes", { body: { node: "n1", command }, query: { waitMs: 10_000 } });

  describe("the policy", () => {
    it("refuses what would take a machine apart, and says by which rule", async () => {
      const command = "cd / && rm -rf *";
      const tried = { allowed: false, rule: expect.any(String) as string };
      const verdict = await product.api.get<{ rule: string }>("POST /v1/policy/try", { body: { command } });
      expect(verdict).toMatchObject(tried);
      const { rule } = verdict;
      expect(await start(command)).toMatchObject({ status: 422, value: { code: "command_refused", rule } });
      expect(await product.api.get("GET /v1/policy")).toMatchObject({
        policy: { allowRules: [] },
        updatedAt: null,
        rules: expect.arrayContaining([rule]) as string[],
      });
    });

    it("that is replaced holds for what is started a moment later, and so does the one before when it is back", async () => {
      await put({ refusePrograms: ["uname"] });
      const answered = (status: number) =>
        expect.poll(async () => (await start("uname -s")).status).toBe(status);
      await answered(422);
      expect((await start("echo uname")).status).toBe(201);
      await put({});
      await answered(201);
    });
  });
};
