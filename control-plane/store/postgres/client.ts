import postgres, { type ISql, type JSONValue, type Sql as Client } from "postgres";
import { storable } from "./text.ts";

export type Types = { int8: number; texts: string[] };

/** The pool, or one transaction of it. */
export type Sql = ISql<Types>;

/** Where the package wants to connect to; of several hosts the first. */
export type Place = { path: string | false; host: string[]; port: number[] };

/** What a socket tells first when it breaks; its end comes a moment later. */
type Failing = { once(event: "error", hear: (error: Error) => void): unknown };

export type DatabaseOptions = {
  /** `postgres://…`; an empty one would silently mean localhost and is refused. */
  url: string;
  /** Connections at most; 10 unless said. */
  poolSize?: number;
  /**
   * Whether a pooler stands between. A pooler may refuse a connection that begins with parameters, and cannot keep them for one
   * session: then the limits of statements and locks are those of the database's role.
   */
  isPooled?: boolean;
  /** Opens a socket to the place, which the runtime of the control plane has to know how to do. */
  socket: (place: Place) => Failing;
};

const connectLimitS = 10;
const statementLimitMs = 30_000;
const lockLimitMs = 10_000;

/** A connection of one life; `over` aborts when it ends, and whatever it is asked fails from then on. */
export type Connection = { sql: Client<Types>; over: AbortSignal };

/**
 * A client with a single connection, opened with its first question and never again. It is over when it ends in whatever
 * way: then all that it was asked fails.
 *
 * The package would mend the connection under the questions that wait for it, and lose track of whose answer is whose: it
 * hands questions to a connection between its error and its close, sends the rollback of a transaction on one that is no
 * longer there and counts on its answer later, and tries for ever where one closes before it is ready. So a second
 * attempt to connect is refused, and what waits is ended.
 *
 * camelCase columns, int8 as number, Dates, and a limit on every statement and lock, unless a pooler is in between.
 */
export function openConnection(
  { url, socket, isPooled = false }: DatabaseOptions,
  onnotify?: (channel: string, payload: string) => void,
): Connection {
  if (url.trim() === "") throw new Error("The URL of the database is empty.");
  const ending = new AbortController();
  let isOpened = false;
  const end = (error: Error): void => {
    if (ending.signal.aborted) return;
    ending.abort(error);
    void sql.end({ timeout: 0 });
  };
  // The types of the package leave some of these out.
  const options = {
    ...settings,
    connection: isPooled ? named : { ...named, ...limits },
    ...(onnotify && { onnotify }),
    onclose: () => end(closed()),
    socket: (place: Place) => {
      if (isOpened) end(closed());
      ending.signal.throwIfAborted();
      isOpened = true;
      const opening = socket(place);
      // Before the package hears of it, and lets go of its questions: the next ones must not come here.
      opening.once("error", end);
      return opening;
    },
  };
  const sql = postgres(url, options);
  return { sql, over: ending.signal };
}

const closed = () =>
  Object.assign(new Error("the connection to the database ended before it had answered"), {
    code: "CONNECTION_CLOSED",
  });

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

const settings = {
  max: 1,
  connect_timeout: connectLimitS,
  max_lifetime: null,
  onnotice: () => {},
  // Only names of columns: the keys inside of jsonb belong to users.
  transform: { column: { from: postgres.toCamel } },
  // The package would ask each new connection for its types of arrays, and end the whole program, out of reach of any
  // handler, where the connection breaks before the answer (porsager/postgres#1192). Text arrays are all we send.
  fetch_types: false,
  types: { int8, texts },
};

const named = { application_name: "drover" };
const limits = { statement_timeout: statementLimitMs, lock_timeout: lockLimitMs };

/** A jsonb parameter: the value itself, never its text, so that the column holds an object. */
export const json = (sql: Sql, value: unknown) => sql.json(storable(value) as JSONValue);

/** A jsonb parameter or NULL (which is not the JSON value null). */
export const jsonOrNull = (sql: Sql, value: unknown) =>
  value === null || value === undefined ? null : json(sql, value);
