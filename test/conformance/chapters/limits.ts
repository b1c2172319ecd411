import { describe, expect, it } from "vitest";
import type { ApiOptions } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { problemDocument } from "../../support/problem.ts";
import type { Product } from "../../support/product.ts";

/** How often somebody may ask. Behind all chapters that bring tokens which are none: here that is made slow. */
export const limits = (product: Product): void => {
  const call = (request: string, options?: ApiOptions) => product.api.api(request, options);

  describe("limits", () => {
    it("are told with each answer, but for those that only say that it lives", async () => {
      for (const request of ["GET /v1/me", "GET /v1/nodes/nobody", "GET /openapi.json"]) {
        const { headers } = await call(request);
        expect(Number(headers.get("ratelimit-limit"))).toBeGreaterThanOrEqual(200);
        expect(Number(headers.get("ratelimit-remaining"))).toBeGreaterThan(0);
        expect(headers.get("ratelimit-reset")).toMatch(/^\d+$/);
      }
      for (const request of ["GET /healthz", "GET /readyz"])
        expect((await call(request)).headers.has("ratelimit-limit")).toBe(false);
    });

    it("leave a token 500 requests a second", async () => {
      const answers = await Promise.all(Array.from({ length: 500 }, () => call("GET /v1/me")));
      expect(answers.map(({ status }) => status).filter((status) => status !== 200)).toEqual([]);
    });

    it("slow who guesses tokens, and nobody else there", async () => {
      const guess = () => call("GET /v1/me", { token: "drva_guessed" });
      await eventually(async () => (await guess()).status === 429);
      const slowed = await guess();
      expect(slowed).toMatchObject({ status: 429, value: problemDocument(429, "rate_limited") });
      expect(Number(slowed.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await call("GET /v1/me")).status).toBe(200);
    });
  });
};
