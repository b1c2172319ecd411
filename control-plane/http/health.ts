import * as z from "zod";
import { DroverError } from "#shared/errors.ts";
import { route, type Route } from "./route.ts";

const healthz: Route = route({
  method: "get",
  path: "/healthz",
  operationId: "isAlive",
  uncounted: true,
  summary: "The control plane is up",
  tag: "service",
  answers: { 200: { description: "Up", schema: z.object({ status: z.literal("ok") }) } },
  failures: [],
  handle: ({ c }) => c.json({ status: "ok" }),
});

const readyz: Route = route({
  method: "get",
  path: "/readyz",
  operationId: "isReady",
  uncounted: true,
  summary: "The database answers and its schema is current",
  tag: "service",
  answers: { 200: { description: "Ready", schema: z.object({ status: z.literal("ready") }) } },
  failures: ["unavailable"],
  handle: async ({ c, needs }) => {
    const state = await needs.store.ready();
    if (!state.ready) throw new DroverError("unavailable", state.reason);
    return c.json({ status: "ready" });
  },
});

export const healthRoutes: Route[] = [healthz, readyz];
