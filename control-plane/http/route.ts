import type { Context } from "hono";
import type { z } from "zod";
import type { ErrorCode } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { Principal } from "../principal.ts";
import { parseJson, readBodyText } from "./body.ts";
import { needsWithin } from "../actions/within-scope.ts";
import { Lifetime, type Lasting } from "./lifetime.ts";
import type { OpenWaits } from "./open-waits.ts";
import { authorize, isOpen, type OperationId } from "./permissions.ts";
import { parseShape } from "./shape.ts";
import type { Trail } from "./trail.ts";

export type AppEnv = {
  /** What the door of a runtime says of a request: where it came from, and its needs where each request brings its own. */
  Bindings: { address?: string; needs?: Needs } | undefined;
  Variables: { requestId: string; principal: Principal; trail: Trail };
};

/** One answer of a route for the API description: its schema, or the media type of a body that is no JSON. */
export type Answer = { description: string; schema?: z.ZodType; media?: string };

/** What a route's function gets: the request after all checks of its shape. */
export type Call<Query, Body> = {
  c: Context<AppEnv>;
  needs: Needs;
  /** Who asks; nobody where the route needs no token. */
  principal: Principal;
  query: Query;
  body: Body;
  bodyText: string;
  /** Aborts when the client leaves, the control plane closes or the token is void: it ends waiting, never a process. */
  signal: AbortSignal;
  /** The same for an answer that goes on when the route's function is done. */
  last(): Lasting;
};

type Method = "get" | "post" | "put" | "patch" | "delete";
export type Tag = "processes" | "fanouts" | "nodes" | "policy" | "secrets" | "access" | "service";

/** The contract of a route; the schemas that validate are the ones the API description shows. */
export type Contract<Q extends z.ZodType, B extends z.ZodType> = {
  method: Method;
  path: string;
  operationId: OperationId;
  summary: string;
  tag: Tag;
  /** Is asked by machines that look whether this one lives, and never too often. */
  uncounted?: boolean;
  /** Whether a request stays open, by what it asks for: a long poll, a stream, a download. */
  staysOpen?(asked: { query: z.output<Q>; body: z.output<B> }): boolean;
  /** Whether it leaves an entry in the audit; unless said, all do but those that only get. */
  audited?: boolean;
  query?: Q;
  body?: B;
  /** A missing body counts as `{}`. */
  bodyOptional?: boolean;
  answers: Record<number, Answer>;
  failures: ErrorCode[];
};

export type Route = Contract<z.ZodType, z.ZodType> & {
  serve(c: Context<AppEnv>, around: Around): Promise<Response>;
};
export type Around = { needs: Needs; closing: AbortSignal; waits: OpenWaits };

/**
 * Joins a contract and its function: size, type, JSON and shape are checked in this order, then what the token may do, before the
 * function runs on what the token may see.
 */
export const route = <Q extends z.ZodType = z.ZodUndefined, B extends z.ZodType = z.ZodUndefined>(
  contract: Contract<Q, B> & { handle(call: Call<z.output<Q>, z.output<B>>): Promise<Response> | Response },
): Route => {
  const { handle, ...rest } = contract;
  return {
    ...rest,
    serve: async (c, around) => {
      const bodyText = contract.body === undefined ? "" : await readBodyText(c);
      const sent =
        contract.body === undefined
          ? undefined
          : bodyText === "" && contract.bodyOptional
            ? {}
            : parseJson(bodyText);
      const query = (contract.query && parseShape(contract.query, queryOf(c), "query")) as z.output<Q>;
      const body = (contract.body && parseShape(contract.body, sent, "body")) as z.output<B>;
      c.get("trail").note({ body: sent });
      const principal = c.get("principal");
      if (!isOpen(contract.operationId)) authorize(contract.operationId, principal);
      const needs = principal === undefined ? around.needs : needsWithin(around.needs, principal.scope);
      const lifetime = new Lifetime(around.needs, principal, [c.req.raw.signal, around.closing]);
      if (contract.staysOpen?.({ query, body }) === true)
        lifetime.whenOver(around.waits.begin(principal.tokenHash, needs.config.limits.openPerToken));
      const call = {
        ...{ c, needs, principal, query, body, bodyText },
        last: () => lifetime.last(),
        get signal() {
          return lifetime.signal;
        },
      };
      try {
        const answer = await handle(call);
        // What would stream is not read by anybody.
        if (c.req.method === "HEAD") lifetime.end();
        lifetime.settle();
        return answer;
      } catch (error) {
        lifetime.end();
        throw error;
      }
    },
  };
};

// A parameter given once is a text, one given several times a list.
const queryOf = (c: Context<AppEnv>): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [
      name,
      values.length === 1 ? (values[0] ?? "") : values,
    ]),
  );
