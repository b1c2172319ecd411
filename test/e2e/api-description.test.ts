import { describe, expect, it } from "vitest";
import { createApp } from "../../control-plane/app.ts";
import type { Needs } from "../../control-plane/needs.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct();

type Operation = {
  operationId?: string;
  summary?: string;
  responses?: Record<string, unknown>;
  security?: unknown[];
};
type Description = {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, unknown> };
};

/** Every route that the app serves, as `get /v1/x/{y}`. */
const served = (): string[] => {
  // Routes are laid out before any need is used.
  const app = createApp({} as Needs);
  const routes = app.routes.filter(({ method, path }) => method !== "ALL" && !path.includes("*"));
  return [
    ...new Set(
      routes.map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, "{$1}")}`),
    ),
  ].toSorted();
};

const read = () => product.api.get<Description>("GET /openapi.json", { token: null });

describe("the description of the API", () => {
  it("needs no token and names every route that is served, and no other", async () => {
    const { openapi, paths } = await read();
    expect(openapi).toMatch(/^3\.1\./);
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    );
    // The agents' socket is no part of the HTTP app but of the server around it.
    expect(described.filter((route) => route !== "get /v1/agent").toSorted()).toEqual(served());
  });

  it("gives every operation a name of its own, a summary and its failures", async () => {
    const operations = Object.values((await read()).paths).flatMap((path) => Object.values(path));
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operationId, summary, responses } of operations) {
      expect(operationId).toMatch(/^[a-z]\w+$/);
      expect(summary).toMatch(/./);
      expect(Object.keys(responses ?? {}).length).toBeGreaterThan(0);
    }
  });

  it("points only to schemas that it holds", async () => {
    const description = await read();
    const names = [...JSON.stringify(description).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name,
    );
    for (const name of names) expect(Object.keys(description.components?.schemas ?? {})).toContain(name);
  });

  it("is there to read, beside the signs of life", async () => {
    expect((await product.api.api("GET /docs", { token: null })).status).toBe(200);
    for (const path of ["/healthz", "/readyz"])
      expect((await product.api.api(`GET ${path}`, { token: null })).status).toBe(200);
    expect(await product.api.get("GET /v1/me")).toMatchObject({ role: "admin" });
    for (const path of ["/v1/me", "/v1/nodes", "/v1/processes", "/v1/nothing"])
      expect((await product.api.api(`GET ${path}`, { token: null })).status).toBe(401);
  });
});
