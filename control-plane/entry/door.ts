import type { Link } from "../link/link.ts";
import type { Log } from "../needs.ts";

/** What is behind a door: the app for requests, the link for the sockets of agents. */
export type Behind = {
  /** `address`: of the other end of the connection. */
  fetch: (request: Request, from: { address: string | undefined }) => Response | Promise<Response>;
  link: Pick<Link, "authorize" | "accept">;
  log: Log;
};

/** Where requests and agents come in. */
export type Door = {
  port: number;
  /** Lets nobody in any more, gives open requests so long to end, then cuts what is left; the link closes its sockets itself. */
  close(graceMs: number): Promise<void>;
};

/** Opens a door; resolves when it listens. A port in use or an address that is not here is a SettingError. */
export type OpenDoor = (behind: Behind, at: { host: string; port: number }) => Promise<Door>;

/** Connections that may wait to be accepted, as far as the system allows: a fleet that lost its server comes back at once. */
export const listenBacklog = 4096;
