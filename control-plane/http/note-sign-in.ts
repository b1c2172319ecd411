import type { Context } from "hono";
import type { Principal } from "../principal.ts";
import { actorOf } from "./audit-entry.ts";
import type { AppEnv } from "./route.ts";

/** Says in the audit who signed in, and the session that began. */
export const noteSignIn = (c: Context<AppEnv>, principal: Principal): void =>
  c.get("trail").note({
    actor: actorOf(principal),
    ...(principal.session === null ? {} : { objectId: principal.session.id }),
  });
