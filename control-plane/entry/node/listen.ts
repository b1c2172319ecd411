import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { DroverError } from "#shared/errors.ts";
import { problemOutside } from "../../http/problem.ts";
import { listenBacklog, type Behind } from "../door.ts";
import { listenError } from "../listen-error.ts";

/** A server that is not listening yet. */
export const httpServer = (fetch: Behind["fetch"]): Server => {
  const listener = getRequestListener(
    (request, { incoming }) => fetch(request, { address: incoming.socket.remoteAddress }),
    { errorHandler: unreadable },
  );
  // Long polls take minutes to answer; what is limited is how long a request may take to arrive.
  const server = createServer(
    { requestTimeout: 120_000, headersTimeout: 30_000, keepAliveTimeout: 72_000 },
    (request, response) => void listener(request, response),
  );
  server.on("clientError", (_error, socket) => {
    if (socket.writable)
      socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  return server;
};

// Only a request that is no valid HTTP (its Host, its target) gets here: the app answers everything else.
const unreadable = (): Response =>
  problemOutside(new DroverError("invalid_request", "the request cannot be read"));

/** Listens and answers the port; a port in use or an address that is not here is a SettingError. */
export const listen = (server: Server, { host, port }: { host: string; port: number }): Promise<number> =>
  new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(listenError(error, { host, port }));
    server.once("error", failed);
    server.listen({ host, port, backlog: listenBacklog }, () => {
      server.off("error", failed);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });

/** Stops accepting, gives open requests a moment to end, then cuts what is left. */
export const stopServer = async (server: Server, graceMs: number): Promise<void> => {
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // A connection that is kept alive becomes idle only when its last answer is through.
  const sweep = setInterval(() => server.closeIdleConnections(), 20);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
};
