import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ProcessView } from "#shared/api/process.ts";

/** The far end of the wire: a control plane whose answers a test writes down, over a real socket. */
export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: unknown;
};
type Reply = (response: ServerResponse, asked: Asked) => void;
type Routes = Record<string, Reply>;

export class ScriptedServer {
  readonly asked: Asked[] = [];
  readonly #server: Server;
  readonly #listeners = new Set<() => void>();
  routes: Routes = {};

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get env(): Record<string, string> {
    return { DROVER_URL: this.url, DROVER_TOKEN: "secret" };
  }

  /** Resolves with the n-th request of this kind. */
  async got(what: string, nth = 1): Promise<Asked> {
    for (;;) {
      const found = this.asked.filter(({ method, path }) => `${method} ${path}` === what)[nth - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#listeners.add(resolve));
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://x");
    const sent = await text(request);
    const body: unknown = sent === "" ? undefined : JSON.parse(sent);
    const asked = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    this.asked.push(asked);
    for (const wake of this.#listeners) wake();
    const route = this.routes[`${asked.method} ${asked.path}`];
    if (route === undefined) problem(404, "not_found", "there is no such thing")(response, asked);
    else route(response, asked);
  }
}

export const json =
  (value: unknown, status = 200): Reply =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  };

export const problem =
  (status: number, code: string, detail: string): Reply =>
  (response) => {
    response
      .writeHead(status, { "content-type": "application/problem+json" })
      .end(JSON.stringify({ type: "about:blank", title: code, status, code, detail, requestId: "req_1" }));
  };

export type Told = { event: string; [field: string]: unknown };

let lastId = 0;
export const sse = ({ event, ...data }: Told): string =>
  `id: ${++lastId}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** A stream of events that ends after them. */
export const events =
  (...told: Told[]): Reply =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).end(told.map(sse).join(""));
  };

export const output = (stream: string, text: string, from = 0): Told => ({
  event: "output",
  stream,
  from,
  to: from + Buffer.byteLength(text),
  text,
});

export const exit = (ending: Partial<ProcessView>): Told => ({
  event: "exit",
  status: "exited",
  exitCode: null,
  signal: null,
  reason: null,
  survivors: [],
  ...ending,
});

export const end: Told = { event: "end" };

export const proc = (fields: Partial<ProcessView> = {}): ProcessView => ({
  id: "proc_1",
  key: null,
  nodeId: "node_1",
  chatId: null,
  turnId: null,
  taskRunId: null,
  fanoutId: null,
  command: "true",
  argv: null,
  cwd: null,
  status: "running",
  reason: null,
  detail: null,
  exitCode: null,
  signal: null,
  pid: 7,
  background: false,
  timeoutMs: null,
  idleTimeoutMs: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  startedAt: null,
  exitedAt: null,
  durationMs: null,
  observedAt: null,
  stale: false,
  output: { totalBytes: 0, omittedBytes: 0, lines: 0 },
  labels: {},
  survivors: [],
  ...fields,
});
