import { Hono } from "hono";
import { describeRoute, generateSpecs, resolver, validator, type DescribeRouteOptions } from "hono-openapi";
import { errorStatus, type ErrorCode } from "#shared/errors.ts";
import { problemAnswer } from "./answers.ts";
import { sessionCookie } from "./cookies.ts";
import { isOpen } from "./permissions.ts";
import type { Route } from "./route.ts";

const noHook = (): void => {};

/**
 * The OpenAPI 3.1 document of all routes, made from the very schemas that validate. It is made from a second set of
 * routes that only describe, so that serving a request costs nothing for it.
 */
export const describeApi = async (
  routes: Route[],
  about: { version: string; url: string },
): Promise<object> => {
  const described = new Hono();
  for (const route of routes) {
    const shapes = [
      ...(route.query === undefined ? [] : [validator("query", route.query, noHook)]),
      ...(route.body === undefined ? [] : [validator("json", route.body, noHook)]),
    ];
    described.on(route.method.toUpperCase(), [route.path], describeRoute(operationOf(route)), ...shapes);
  }
  return generateSpecs(described, {
    documentation: {
      info: {
        title: "Drover",
        version: about.version,
        description: "Start, follow and end processes on any node of a fleet.",
      },
      servers: [{ url: about.url }],
      tags: [
        { name: "processes" },
        { name: "fanouts" },
        { name: "nodes" },
        { name: "access" },
        { name: "service" },
      ],
      components: {
        securitySchemes: {
          token: { type: "http", scheme: "bearer" },
          session: {
            type: "apiKey",
            in: "cookie",
            name: sessionCookie.name,
            description: "For pages of the console only: POST /v1/session sets it; under https as __Host-",
          },
        },
      },
      security: [{ token: [] }, { session: [] }],
    },
    excludeStaticFile: false,
    defaultValidationErrorResponse: false,
  });
};

const operationOf = (route: Route): DescribeRouteOptions => ({
  operationId: route.operationId,
  summary: route.summary,
  tags: [route.tag],
  ...(isOpen(route.operationId) ? { security: [] } : {}),
  ...(route.bodyOptional === true ? { requestBody: { required: false, content: {} } } : {}),
  responses: { ...answersOf(route), ...failuresOf(route) },
});

type Responses = NonNullable<DescribeRouteOptions["responses"]>;

const answersOf = (route: Route): Responses =>
  Object.fromEntries(
    Object.entries(route.answers).map(([status, { description, schema, media }]) => {
      const content =
        schema === undefined
          ? media === undefined
            ? {}
            : { content: { [media]: { schema: { type: "string" as const } } } }
          : { content: { "application/json": { schema: resolver(schema) } } };
      return [status, { description, ...content }];
    }),
  );

// Several codes may share a status: they are listed together. Every route can fail for want of a token or of its rights, for a
// cookie from another page, or inside.
const failuresOf = (route: Route): Responses => {
  const codes = [
    ...new Set<ErrorCode>([
      ...route.failures,
      ...(isOpen(route.operationId) ? [] : (["unauthorized", "forbidden"] as const)),
      ...(route.uncounted === true ? [] : (["rate_limited"] as const)),
      ...(["internal", "unavailable"] as const),
    ]),
  ];
  const statuses = [...new Set(codes.map((code) => errorStatus[code]))];
  return Object.fromEntries(
    statuses.map((status) => {
      const description = codes.filter((code) => errorStatus[code] === status).join(", ");
      return [
        String(status),
        { description, content: { "application/problem+json": { schema: resolver(problemAnswer) } } },
      ];
    }),
  );
};
