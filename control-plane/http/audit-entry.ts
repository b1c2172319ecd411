import type { Context } from "hono";
import { newId } from "#shared/ids.ts";
import type { AuditEntry } from "../store/store.ts";
import type { Principal } from "../principal.ts";
import { addressOf } from "./address.ts";
import { auditInput } from "./audit-input.ts";
import type { AppEnv, Route } from "./route.ts";
import type { Found, Result } from "./trail.ts";

type Made = { c: Context<AppEnv>; at: Date; found: Found; result: Result };

const maxIdChars = 200;
const madeId = /^[a-z]{3,4}_[0-9a-z]{26}$/;
// No secret is an id, whatever a route calls so (the id of a lease lets its holder in).
const idOf = (text: string | undefined): string | null =>
  text !== undefined && madeId.test(text) ? text : null;

/** The entry of a request with this result. */
export const auditEntry = (route: Route, { c, at, found, result }: Made): AuditEntry => {
  const kind = kindOf(route.path);
  const named = found.path?.[0]?.slice(0, maxIdChars);
  const input = auditInput(found.body);
  return {
    ...{ id: newId("aud"), at, requestId: c.get("requestId"), address: addressOf(c) },
    ...(found.actor ?? actorOf(c.get("principal"))),
    operation: route.operationId,
    objectKind: kind,
    objectId: named ?? idOf(found.objectId),
    nodeId: found.node?.id ?? (kind === "node" ? (named ?? null) : nodeNamedIn(input)),
    nodeName: found.node?.name ?? null,
    input,
    ...result,
  };
};

/** Open routes have no principal, whatever the type says. A person has no token: the session is who they are. */
export const actorOf = (principal: Principal | undefined): NonNullable<Found["actor"]> =>
  principal === undefined
    ? { actorKind: "nobody", actorId: null, actorName: "nobody" }
    : {
        actorKind: principal.kind,
        actorId: principal.tokenId ?? principal.session?.id ?? null,
        actorName: principal.name,
      };

/** `/v1/processes/:id/stop` is about a process. */
const kindOf = (path: string): string => {
  const [, , resource = ""] = path.split("/");
  return resource === "enroll" ? "node" : resource.replace(/(ss)es$/, "$1").replace(/([^s])s$/, "$1");
};

const nodeNamedIn = ({ node }: Record<string, unknown>): string | null =>
  typeof node === "string" ? node.slice(0, maxIdChars) : null;
