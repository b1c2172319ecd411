// What the entry uses of Deno. The types of Deno and those of Node cannot both be in one program, and everything else here is
// checked with Node's.

type Listener = { hostname: string; port: number; tcpBacklog: number };
type ServeOptions = Listener & {
  onListen(address: { port: number }): void;
  onError(error: unknown): Response;
};

type Server = { addr: { port: number }; shutdown(): Promise<void> };

type Answer = (request: Request, from: { remoteAddr: { hostname: string } }) => Response | Promise<Response>;

type DenoRuntime = {
  pid: number;
  hostname(): string;
  exit(code: number): never;
  /** Throws where the address cannot be listened on. */
  serve(options: ServeOptions, answer: Answer): Server;
  /** Throws where the request asks for no upgrade. `idleTimeout` in seconds, 0 for none. */
  upgradeWebSocket(
    request: Request,
    options: { idleTimeout: number },
  ): { socket: WebSocket; response: Response };
  addSignalListener(signal: "SIGINT" | "SIGTERM", heard: () => void): void;
  permissions: { querySync(what: Permission): { state: "granted" | "prompt" | "denied" } };
};

const permissions = ["read", "write", "net", "env", "sys", "run", "ffi", "import"] as const;
type Permission = { name: (typeof permissions)[number]; kind?: "hostname" };

declare const Deno: DenoRuntime;

export const deno: DenoRuntime = Deno;

/** Whether this was allowed when Deno was started; nobody is asked. */
export const isAllowed = (what: Permission): boolean => deno.permissions.querySync(what).state === "granted";

/** `--allow-all`, which is also what it takes to read `/proc`. */
export const isAllAllowed = (): boolean => permissions.every((name) => isAllowed({ name }));
