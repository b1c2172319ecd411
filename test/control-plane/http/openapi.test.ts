import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openService, type Service } from "./service.ts";

type Operation = {
  operationId: string;
  tags: string[];
  security?: unknown[];
  parameters?: { name: string }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
};

describe("the API description", () => {
  let service: Service;
  let api: {
    openapi: string;
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, object>; securitySchemes: object };
  };
  beforeAll(async () => {
    service = await openService();
    const answer = await service.app.request("/openapi.json");
    api = (await answer.json()) as typeof api;
  });
  afterAll(() => service.close());

  const operations = () =>
    Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  it("is OpenAPI 3.1 and holds every route that answers", () => {
    expect(api.openapi).toBe("3.1.0");
    const served = service.app.routes.filter(({ method, path }) => method !== "ALL" && !path.endsWith("*"));
    const described = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(described.toSorted()).toEqual(
      served.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`).toSorted(),
    );
  });

  it("is valid for a validator that is not ours", async () => {
    const validator = new Validator();
    expect(await validator.validate(api)).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
    // It would say so.
    const paths = { ...api.paths, "/v1/wrong": { get: { responses: { 200: {} } } } };
    expect(await new Validator().validate({ ...api, paths })).toMatchObject({ valid: false });
  });

  it("gives each operation a name of its own, a tag, an answer and its failures as problems", () => {
    const names = operations().map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operation } of operations()) {
      expect(operation.tags).toHaveLength(1);
      expect(operation.responses["500"]?.content).toHaveProperty(["application/problem+json"]);
    }
    expect(api.paths["/v1/processes"]?.["post"]?.responses).toMatchObject({
      201: {},
      200: {},
      400: {},
      401: {},
      404: {},
      409: {},
      413: {},
      415: {},
      422: {},
      503: {},
    });
  });

  it("names the token and the cookie as the ways in, and the routes that need none", () => {
    expect(api.components.securitySchemes).toMatchObject({
      token: { type: "http", scheme: "bearer" },
      session: { type: "apiKey", in: "cookie" },
    });
    const open = operations()
      .filter(({ operation }) => operation.security?.length === 0)
      .map(({ path }) => path);
    expect(open.toSorted()).toEqual([
      "/docs",
      "/healthz",
      "/openapi.json",
      "/readyz",
      "/v1/enroll",
      "/v1/session",
      "/v1/session/oidc",
      "/v1/session/oidc/callback",
    ]);
  });

  it("shows the schemas that validate: bounds, defaults, no other fields", () => {
    const body = api.paths["/v1/processes"]?.["post"]?.requestBody?.content["application/json"]?.schema;
    expect(body).toMatchObject({
      additionalProperties: false,
      properties: {
        graceMs: { minimum: 0, maximum: 600_000, default: 5000 },
        output: { enum: ["merged", "split"] },
      },
    });
    const query = api.paths["/v1/processes/{id}/output"]?.["get"]?.parameters?.map(({ name }) => name);
    expect(query).toEqual(expect.arrayContaining(["id", "view", "stream", "from", "to", "grep", "format"]));
  });

  it("is shown as a page that loads nothing from elsewhere", async () => {
    const page = await service.app.request("/docs");
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(await page.text()).not.toMatch(/(src|href)="(https?:)?\/\//);
  });
});
