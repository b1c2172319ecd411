import { Hono, type Context } from "hono";
import { DroverError } from "#shared/errors.ts";
import { newId } from "#shared/ids.ts";
import { accessRoutes } from "./http/access.ts";
import { auditRoute } from "./http/audit.ts";
import { auditing, type Audited } from "./http/audited.ts";
import { authenticate } from "./http/auth.ts";
import { eventsRoute } from "./http/events.ts";
import { documentRoutes } from "./http/documents.ts";
import { fanoutEvents } from "./http/fanout-events.ts";
import { fanoutRoutes } from "./http/fanouts.ts";
import { healthRoutes } from "./http/health.ts";
import { nodeRoutes } from "./http/nodes.ts";
import { isOpen } from "./http/permissions.ts";
import { oidcRoutes } from "./http/oidc.ts";
import { OpenWaits } from "./http/open-waits.ts";
import { onError } from "./http/problem.ts";
import { policyRoutes } from "./http/policy.ts";
import { processControlRoutes } from "./http/process-control.ts";
import { processEvents } from "./http/process-events.ts";
import { processOutput } from "./http/process-output.ts";
import { processRoutes } from "./http/processes.ts";
import { limitAddress, limitToken, slowAttempts } from "./http/rate-limit.ts";
import { secretRoutes } from "./http/secrets.ts";
import type { AppEnv, Around, Route } from "./http/route.ts";
import { sessionRoutes } from "./http/session.ts";
import { tokenRoutes } from "./http/tokens.ts";
import { securityHeaders } from "./http/security-headers.ts";
import type { Needs } from "./needs.ts";

const neverClosing = new AbortController().signal;

/**
 * The control plane's HTTP API out of its needs; it knows no runtime. `closing` ends long polls and streams when the
 * control plane stops.
 */
export const createApp = (needs: Needs, closing: AbortSignal = neverClosing): Hono<AppEnv> =>
  createAppOf(() => needs, closing);

type NeedsOf = (c: Context<AppEnv>) => Needs;

/** The same where nothing that does I/O may outlive its request: each request brings its own needs. */
export const createAppOf = (needsOf: NeedsOf, closing: AbortSignal = neverClosing): Hono<AppEnv> => {
  const app = new Hono<AppEnv>();
  const routes = allRoutes();
  const waits = new OpenWaits();
  const serving = {
    aroundOf: (c: Context<AppEnv>): Around => ({ needs: needsOf(c), closing, waits }),
    audited: auditing(),
  };
  app.onError((error, c) => onError(needsOf(c))(error, c));
  app.notFound(() => {
    throw new DroverError("not_found", "there is no such route");
  });
  app.use(stamp);
  app.use("/v1/*", slowAttempts(needsOf));
  // The order is the check: routes without a token first, then the token, then all others.
  const limited = limitAddress(needsOf);
  for (const path of countedByAddress(routes)) app.use(path, limited);
  serve(app, routes, { open: true, ...serving });
  app.use("/v1/*", authenticate(needsOf));
  app.use("/v1/*", limitToken(needsOf));
  serve(app, routes, { open: false, ...serving });
  return app;
};

const countedByAddress = (routes: Route[]): Set<string> =>
  new Set(
    routes
      .filter((route) => isOpen(route.operationId) && route.uncounted !== true)
      .map((route) => route.path),
  );

const allRoutes = (): Route[] => {
  const api = [
    ...accessRoutes,
    ...tokenRoutes,
    ...sessionRoutes,
    ...oidcRoutes,
    auditRoute,
    ...nodeRoutes,
    ...processRoutes,
    ...processControlRoutes,
    processOutput,
    processEvents,
    eventsRoute,
    ...fanoutRoutes,
    fanoutEvents,
    ...policyRoutes,
    ...secretRoutes,
    ...healthRoutes,
  ];
  return [...api, ...documentRoutes(api)];
};

type Serving = { open: boolean; aroundOf: (c: Context<AppEnv>) => Around; audited: Audited };

const serve = (app: Hono<AppEnv>, routes: Route[], { open, aroundOf, audited }: Serving): void => {
  for (const [path, sharing] of Map.groupBy(routes, (route) => route.path)) {
    for (const route of sharing.filter((each) => isOpen(each.operationId) === open))
      app.on(route.method.toUpperCase(), [path], (c) => {
        const around = aroundOf(c);
        return audited(route, { c, needs: around.needs }, () => route.serve(c, around));
      });
    // Which methods a path has is said without a token only where none of them needs one.
    if (sharing.every((route) => isOpen(route.operationId)) === open)
      app.all(path, () => notAllowed(sharing));
  }
};

const notAllowed = (routes: Route[]): never => {
  const methods = routes.map((route) => route.method.toUpperCase());
  const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].join(", ");
  throw new DroverError("method_not_allowed", `allowed here: ${allow}`, { allow });
};

const stamp = async (c: Context<AppEnv>, next: () => Promise<void>): Promise<void> => {
  const requestId = newId("req");
  c.set("requestId", requestId);
  c.header("x-request-id", requestId);
  for (const [name, value] of Object.entries(securityHeaders)) c.header(name, value);
  await next();
};
