import type { Context } from "hono";
import type { z } from "zod";
import type { ErrorCode } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import { parseJson, readBodyText } from "./body.ts";
import { parseShape } from "./shape.ts";

/** Who asks; today there is one admin token. */
export type Principal = { name: string; role: "admin"; tokenHash: string };

export type AppEnv = { Variables: { requestId: string; principal: Principal } };

/** One answer of a route for the API description: its schema, or the media type of a body that is no JSON. */
export type Answer = { description: string; schema?: z.ZodType; media?: string };

/** What a route's function gets: the request after all checks of its shape. */
export type Call<Query, Body> = {
  c: Context<AppEnv>;
  needs: Needs;
  query: Query;
  body: Body;
  bodyText: string;
  /** Aborts when the client leaves or the control plane closes: it ends waiting, never a process. */
  signal: AbortSignal;
};

type Method = "get" | "post" | "put" | "patch" | "delete";
export type Tag = "processes" | "fanouts" | "nodes" | "policy" | "access" | "service";

/** The contract of a route; the schemas that validate are the ones the API description shows. */
export type Contract<Q extends z.ZodType, B extends z.ZodType> = {
  method: Method;
  path: string;
  operationId: string;
  summary: string;
  tag: Tag;
  /** Needs no token. */
  open?: boolean;
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
export type Around = { needs: Needs; closing: AbortSignal };

/** Joins a contract and its function: size, type, JSON and shape are checked in this order before the function runs. */
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
      return handle({
        c,
        needs: around.needs,
        query: (contract.query === undefined
          ? undefined
          : parseShape(contract.query, queryOf(c), "query")) as z.output<Q>,
        body: (contract.body === undefined
          ? undefined
          : parseShape(contract.body, sent, "body")) as z.output<B>,
        bodyText,
        get signal() {
          return AbortSignal.any([c.req.raw.signal, around.closing]);
        },
      });
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
