// What a runtime of the control plane has to be able to do so that the conformance suite can run on it. A runtime is one
// file here, named like it, that exports `runtime`; by being there it has a vitest project `conformance-<name>`.

export type RuntimeName = "node" | "deno" | "workerd";

export type StartOptions = {
  /** A database that is migrated, of this product alone. */
  databaseUrl: string;
  adminToken: string;
  /** 32 bytes in base64. */
  secretKey: string;
  /** Where it listens on 127.0.0.1; 0 takes any free port. One that was killed is started again on its port. */
  port: number;
  /** A folder for whatever it writes; it may not be there yet, and has spaces in its name. */
  dataDir: string;
  /**
   * The environment of its programs, with nothing of the test's own. It names the product's folder, by which whatever is
   * left at the end of a test is found and ended: pass it on to every program that is started.
   */
  env: Record<string, string>;
};

/** One control plane that answers. */
export type Running = {
  /** `http://127.0.0.1:<port>`, without a slash at its end. */
  readonly url: string;
  /** What it said so far, for a test that fails. */
  readonly log: string;
  /** Ends it as `kill -9` or a deploy does: nothing is said to anybody, all sockets drop. Resolves when the port is free. */
  kill(): Promise<void>;
  /** Ends it in order, where the runtime knows an order; otherwise like `kill`. */
  stop(): Promise<void>;
  /** Puts all of its objects to sleep with their sockets open, as a runtime does that bills by time (`hibernate` in `powers`). */
  hibernate?(): Promise<void>;
  /** Throws away what it holds in memory, as when a platform moves an object; sockets may drop (`evict` in `powers`). */
  evict?(): Promise<void>;
};

export type Power = "hibernate" | "evict";

export type Runtime = {
  name: RuntimeName;
  /** What a control plane of this runtime can do beyond living and dying. */
  powers: readonly Power[];
  /** Something before the control plane answers paths that are no part of the API, with a page. */
  showsPage?: true;
  /** Starts a control plane; resolves when it answers, and fails with what it said if it does not. */
  start(options: StartOptions): Promise<Running>;
};
