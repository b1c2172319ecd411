// Every request that changes something leaves an entry in the audit, whatever comes of it: a route that is no GET is
// audited unless its contract says that it only reads. The order is
//
//   1. the effect: rows, then pushes
//   2. the entry, in one statement with those of other requests of the moment
//   3. the answer
//
// A control plane that dies between 1 and 2 has answered nobody; what was done then is in its own row (a process, a token, a
// node) and in no entry. An answer that goes on to wait for something has its entry as soon as the effect is there (`effected`),
// so that gap is a statement long, not a wait. A request that fails before its effect has an entry with the code of its failure.
//
// An entry that cannot be written within its limit undoes nothing and changes no answer: it goes to the log, whole
// (`audit.failed`), which is where an auditor has to look for what is missing.
//
// Who brings no identity (a join token that is void) could fill the disk: of such entries a bounded number a minute is
// written, and the next one says how many were left out. What is turned away for want of a token has no entry at all.

import type { Context } from "hono";
import { errorStatus } from "#shared/errors.ts";
import { recordAudit } from "../actions/record-audit.ts";
import type { Needs } from "../needs.ts";
import { perMinute, type Counted } from "./per-minute.ts";
import { toDroverError } from "./problem.ts";
import { auditEntry } from "./audit-entry.ts";
import type { AppEnv, Route } from "./route.ts";
import type { Found, Result, Trail } from "./trail.ts";

const strangersAMinute = 60;

const none: Trail = { note: () => {}, write: async () => {} };

export type Audited = (
  route: Route,
  asked: { c: Context<AppEnv>; needs: Needs },
  serve: () => Promise<Response>,
) => Promise<Response>;

const isAudited = ({ method, audited = method !== "get" }: Route): boolean => audited;

/** Serves a request and writes its entry before it is answered. */
export const auditing = (): Audited => {
  const strangers = perMinute(strangersAMinute);
  return async (route, asked, serve) => {
    const trail = isAudited(route) ? begin(route, asked, strangers) : none;
    asked.c.set("trail", trail);
    try {
      const answer = await serve();
      await trail.write({ status: answer.status, code: null });
      return answer;
    } catch (error) {
      const { code } = toDroverError(error);
      await trail.write({ status: errorStatus[code], code });
      throw error;
    }
  };
};

const begin = (
  route: Route,
  { c, needs }: { c: Context<AppEnv>; needs: Needs },
  strangers: Counted,
): Trail => {
  let found: Found = { path: Object.values(c.req.param()) };
  let written: Promise<void> | undefined;
  const write = async (result: Result): Promise<void> => {
    const entry = auditEntry(route, { c, at: needs.now(), found, result });
    const isStranger = entry.actorKind === "nobody";
    if (isStranger && !strangers.admit(entry.at)) return;
    const leftOut = isStranger ? strangers.takeLeftOut() : 0;
    await recordAudit(needs, leftOut === 0 ? entry : { ...entry, input: { ...entry.input, leftOut } });
  };
  return {
    note: (more) => void (found = { ...found, ...more }),
    write: (result) => (written ??= write(result)),
  };
};
