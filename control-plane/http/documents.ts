import * as z from "zod";
import { describeApi } from "./api-description.ts";
import { docsPage } from "./docs-page.ts";
import { page, showPage, type Page } from "./page.ts";
import { route, type Route } from "./route.ts";

/** `/openapi.json` and `/docs` over all other routes and themselves. */
export const documentRoutes = (others: Route[]): Route[] => {
  let shown: Promise<Page> | undefined;
  let description: Promise<object> | undefined;
  const openapi = route({
    method: "get",
    path: "/openapi.json",
    operationId: "describeApi",
    summary: "This description",
    tag: "service",
    answers: { 200: { description: "OpenAPI 3.1", schema: z.record(z.string(), z.unknown()) } },
    failures: [],
    handle: async ({ c, needs }) => {
      description ??= describeApi([...others, openapi, docs], {
        version: needs.config.version,
        url: needs.config.publicUrl,
      });
      return c.json(await description);
    },
  });
  const docs = route({
    method: "get",
    path: "/docs",
    operationId: "readDocs",
    summary: "This description as a page",
    tag: "service",
    answers: { 200: { description: "A page", media: "text/html" } },
    failures: [],
    handle: async ({ c }) => showPage(c, await (shown ??= page(docsPage))),
  });
  return [openapi, docs];
};
