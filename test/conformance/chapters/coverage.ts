import { describe, expect, it } from "vitest";
import type { Answered } from "../../support/api.ts";
import type { Product } from "../../support/product.ts";

type Description = { paths: Record<string, Record<string, { responses?: Record<string, unknown> }>> };
type Described = { route: string; pattern: RegExp; statuses: number[] };

/** What the suite itself owes: that it hits every route there is, whoever adds one. */
export const coverage = (product: Product, calls: readonly Answered[]): void => {
  const routes = async (): Promise<Described[]> => {
    const { paths } = await product.api.get<Description>("GET /openapi.json", { token: null });
    return Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { responses = {} }]) => ({
        route: `${method.toUpperCase()} ${path}`,
        pattern: new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?|$)`),
        statuses: Object.keys(responses).map(Number),
      })),
    );
  };
  // A path that is written out goes before one with a parameter.
  const byParameters = (a: Described, b: Described) => a.route.split("{").length - b.route.split("{").length;

  describe("the suite", () => {
    it("gets a good answer of every route of the description, and no answer that the description does not name", async () => {
      const described = (await routes()).toSorted(byParameters);
      const answers = new Map(described.map(({ route }) => [route, new Set<number>()]));
      for (const { method, path, status } of calls) {
        const route = described.find(({ pattern }) => pattern.test(`${method} ${path}`))?.route;
        if (route !== undefined) answers.get(route)?.add(status);
      }
      const isGood = (status: number) => status < 300;
      const missed = described.filter(({ route, statuses }) => {
        const seen = [...(answers.get(route) ?? [])];
        // A route that is described and not built has no good answer.
        return !seen.some(statuses.some(isGood) ? isGood : (status) => statuses.includes(status));
      });
      expect(missed.map(({ route }) => route)).toEqual([]);
      const unnamed = described.flatMap(({ route, statuses }) =>
        [...(answers.get(route) ?? [])]
          .filter((status) => !statuses.includes(status))
          .map((status) => `${route} answered ${status}`),
      );
      expect(unnamed).toEqual([]);
    });
  });
};
