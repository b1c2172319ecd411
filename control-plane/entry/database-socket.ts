import { connect, type Socket } from "node:net";
import type { DatabaseOptions, Place } from "../store/postgres/client.ts";

/** The database at a URL, as Node and Deno reach it. */
export const databaseAt = (url: string): DatabaseOptions => ({ url, socket: databaseSocket });

/** Opens a connection to the database; the package waits until it is there, and hears of its errors. */
function databaseSocket({ path, host, port }: Place): Socket {
  if (path !== false) return connect({ path });
  const place = { host: host[0] ?? "localhost", port: port[0] ?? 5432 };
  // The package names the server by these in TLS and in its errors.
  return Object.assign(connect(place), place);
}
