import postgres, { type ISql, type JSONValue, type Sql as AnySql } from "postgres";
import { storable } from "./text.ts";

type Types = { int8: number; texts: string[] };

/** The pool itself, which can open transactions. */
export type Pool = AnySql<Types>;

/** The pool, or one transaction of it. */
export type Sql = ISql<Types>;

export type DatabaseOptions = {
  /** `postgres://…`; an empty one would silently mean localhost and is refused. */
  url: string;
  /** Connections at most; 10 unless said. */
  poolSize?: number;
  /** Opens the sockets, given the options of the package; its own unless said, which lose track when one breaks. */
  socket?: ((place: never) => unknown) | undefined;
};

const connectLimitS = 10;
const idleLimitS = 20;
const longestPauseS = 1;
const statementLimitMs = 30_000;
const lockLimitMs = 10_000;

/** What a client that listens wants to hear; the types of the package leave `onnotify` out. */
export type Hearing = { onnotify(channel: string, payload: string): void; onclose(): void };

/** The pool of this process: camelCase columns, int8 as number, Dates, and a limit on every statement and lock. */
export function openClient({ url, poolSize = 10, socket }: DatabaseOptions, hearing?: Hearing): Pool {
  if (url.trim() === "") throw new Error("The URL of the database is empty.");
  return postgres(url, {
    max: poolSize,
    connect_timeout: connectLimitS,
    // The types of the package leave it out.
    ...(socket === undefined ? {} : { socket }),
    // A connection that listens is kept whatever its age.
    ...(hearing === undefined ? { idle_timeout: idleLimitS } : { max_lifetime: null, ...hearing }),
    // A database that is back is used again within a second; the package's own pauses grow to 20 s.
    backoff: (failures) => (0.5 + Math.random() / 2) * Math.min(2 ** failures / 100, longestPauseS),
    onnotice: () => {},
    // Only names of columns: the keys inside of jsonb belong to users.
    transform: { column: { from: postgres.toCamel } },
    // The package would ask each new connection for its types of arrays, and end the whole program, out of reach of any
    // handler, where the connection breaks before the answer (porsager/postgres#1192). Text arrays are all we send.
    fetch_types: false,
    types: { int8, texts },
    connection: {
      application_name: "drover",
      statement_timeout: statementLimitMs,
      lock_timeout: lockLimitMs,
    },
  });
}

// Every int8 here is a count of bytes, lines or milliseconds below 2^53.
const int8 = { to: 20, from: [20], parse: Number, serialize: String };

/** Parameters only: no column is an array. */
const texts = {
  to: 1009,
  from: [],
  parse: (literal: string): string[] => [literal],
  serialize: (all: string[]): string =>
    `{${all.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(",")}}`,
};

/** A jsonb parameter: the value itself, never its text, so that the column holds an object. */
export const json = (sql: Sql, value: unknown) => sql.json(storable(value) as JSONValue);

/** A jsonb parameter or NULL (which is not the JSON value null). */
export const jsonOrNull = (sql: Sql, value: unknown) =>
  value === null || value === undefined ? null : json(sql, value);
