import { eventually } from "./eventually.ts";
import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";

export type Query = Record<string, string | number | boolean>;
export type ApiOptions = {
  query?: Query;
  body?: unknown;
  text?: string;
  headers?: Record<string, string>;
  token?: string | null;
  signal?: AbortSignal;
  redirect?: RequestRedirect;
};
/** One call and the status that came back. */
export type Answered = { method: string; path: string; status: number };
export type Reply<T> = { status: number; headers: Headers; value: T };
export type Problem = {
  status: number;
  code: string;
  detail: string;
  requestId: string;
  issues?: { path: string; message: string }[];
};
export type TextResult = {
  text: string;
  truncated: { originalBytes: number; retainedBytes: number; omittedBytes: number } | null;
};
export type ExecView = ProcessView & { result: TextResult & { stdout: TextResult; stderr: TextResult } };

const answerMs = 100_000;
const lookMs = 30_000;

/** The REST API as its users call it, over real HTTP. */
export class Api {
  readonly url: string;
  readonly token: string;
  readonly #answered: (call: Answered) => void;

  constructor(url: string, token: string, answered: (call: Answered) => void = () => {}) {
    this.url = url;
    this.token = token;
    this.#answered = answered;
  }

  async fetch(
    call: string,
    {
      query = {},
      body,
      text,
      headers = {},
      token = this.token,
      signal,
      redirect = "follow",
    }: ApiOptions = {},
  ): Promise<Response> {
    const [method = "GET", path = "/"] = call.split(" ");
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${this.url}${path}${search.size > 0 ? `?${search}` : ""}`, {
      method,
      redirect,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(sent === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
      signal: AbortSignal.any([AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])]),
    });
    this.#answered({ method, path, status: response.status });
    return response;
  }

  /** `call` is method and path; what comes back is taken at the type's word. */
  async api<T = Problem>(call: string, options?: ApiOptions): Promise<Reply<T>> {
    const response = await this.fetch(call, options);
    const text = await response.text();
    const value: unknown = /json/.test(response.headers.get("content-type") ?? "") ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, value: value as T };
  }

  /** Like `api`, where any refusal is a failure of the test. */
  async get<T = ProcessView>(call: string, options?: ApiOptions): Promise<T> {
    const { status, value } = await this.api<T>(call, options);
    if (status >= 300) throw new Error(`${call} answered ${status}: ${JSON.stringify(value)}`);
    return value;
  }

  start(body: Record<string, unknown>, headers: Record<string, string> = {}): Promise<ProcessView> {
    return this.get("POST /v1/processes", { body, headers });
  }

  /** Starts a process and answers it ended, with its output. */
  async exec(body: Record<string, unknown>): Promise<ExecView> {
    const done = await this.get<ExecView>("POST /v1/processes", { body, query: { waitMs: 60_000 } });
    if (!isFinal(done.status)) throw new Error(`not ended after 60 s: ${JSON.stringify(done)}`);
    return done;
  }

  process(id: string): Promise<ProcessView> {
    return this.get(`GET /v1/processes/${id}`);
  }

  /** Waits for the final state. */
  async final(id: string): Promise<ProcessView> {
    for (const deadline = performance.now() + 2 * lookMs; ;) {
      const seen = await this.get(`GET /v1/processes/${id}`, { query: { waitMs: lookMs } });
      if (isFinal(seen.status)) return seen;
      if (performance.now() > deadline)
        throw new Error(`not ended after ${2 * lookMs} ms: ${JSON.stringify(seen)}`);
    }
  }

  /** Waits until a text stands in the output. */
  async printed(id: string, pattern: string): Promise<void> {
    const body = { for: ["pattern"], pattern, waitMs: lookMs };
    const { met } = await this.get<{ met: string | null }>(`POST /v1/processes/${id}/wait`, { body });
    if (met !== "pattern") throw new Error(`${id} did not print "${pattern}"`);
    // Output is there before the report of it: what a test goes on with is a process that is known to run.
    await eventually(async () => !["queued", "starting"].includes((await this.process(id)).status));
  }

  output<
    T = {
      text: string;
      from: number;
      to: number;
      next: number;
      totalBytes: number;
      truncated: TextResult["truncated"];
    },
  >(id: string, query: Query = {}): Promise<T> {
    return this.get<T>(`GET /v1/processes/${id}/output`, { query });
  }

  /** The bytes as the process wrote them. */
  async raw(id: string, query: Query = {}): Promise<Buffer> {
    const response = await this.fetch(`GET /v1/processes/${id}/output`, {
      query: { ...query, format: "raw" },
    });
    if (!response.ok) throw new Error(`raw output answered ${response.status}: ${await response.text()}`);
    return Buffer.from(await response.arrayBuffer());
  }

  stop(id: string, graceMs = 0): Promise<ProcessView> {
    return this.get(`POST /v1/processes/${id}/stop`, { body: { graceMs } });
  }
}
